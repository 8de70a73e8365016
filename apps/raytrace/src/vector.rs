//! Owns: vectors of three numbers: points, directions, colours.
//! May use: nothing.
//! Never: a fused operation; the same scene must give the same picture everywhere.

use std::ops::{Add, Mul, Neg, Sub};

/// A point, a direction or a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vector {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Away.
    pub z: f64,
}

impl Vector {
    /// The vector with these parts.
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Vector { x, y, z }
    }

    /// The inner product.
    pub fn dot(self, other: Vector) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// The outer product.
    pub fn cross(self, other: Vector) -> Vector {
        Vector::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    /// Its length.
    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The same direction with length 1.
    #[must_use]
    pub fn normal(self) -> Vector {
        self * (1.0 / self.length())
    }

    /// Part by part.
    #[must_use]
    pub fn times(self, other: Vector) -> Vector {
        Vector::new(self.x * other.x, self.y * other.y, self.z * other.z)
    }

    /// What a mirror with this normal makes of the direction.
    #[must_use]
    pub fn mirrored(self, normal: Vector) -> Vector {
        self - normal * (2.0 * self.dot(normal))
    }
}

impl Add for Vector {
    type Output = Vector;
    fn add(self, other: Vector) -> Vector {
        Vector::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl Sub for Vector {
    type Output = Vector;
    fn sub(self, other: Vector) -> Vector {
        Vector::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Neg for Vector {
    type Output = Vector;
    fn neg(self) -> Vector {
        self * -1.0
    }
}

impl Mul<f64> for Vector {
    type Output = Vector;
    fn mul(self, by: f64) -> Vector {
        Vector::new(self.x * by, self.y * by, self.z * by)
    }
}
