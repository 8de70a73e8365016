//! Owns: the colour of a point of the picture.
//! May use: `scene`, `vector`.
//! Never: a thread, a clock, chance: a point's colour depends on the scene alone.
//!
//! Whitted's method (*An improved illumination model for shaded display*, 1980): diffuse and specular light with
//! shadows, and mirrors to a fixed depth. Triangles by Moeller and Trumbore (1997).

use crate::scene::{Material, Scene, SceneShape};
use crate::vector::Vector;

/// The most reflections of a ray.
const DEPTH: u32 = 5;
/// A hit nearer than this is the surface that the ray leaves.
const NEAR: f64 = 1e-6;

/// The scene as it is seen in a picture of a certain size.
pub struct View<'a> {
    scene: &'a Scene,
    corner: Vector,
    right: Vector,
    down: Vector,
}

struct Ray {
    from: Vector,
    to: Vector,
}

struct Hit<'a> {
    at: Vector,
    normal: Vector,
    material: &'a Material,
}

impl<'a> View<'a> {
    /// A picture of `width` by `height` points.
    pub fn new(scene: &'a Scene, width: u32, height: u32) -> Self {
        let forward = (scene.camera.to - scene.camera.at).normal();
        let right = Vector::new(0.0, 1.0, 0.0).cross(forward).normal();
        let down = right.cross(forward);
        let half = (scene.camera.angle.to_radians() / 2.0).tan();
        let step = 2.0 * half / f64::from(height);
        let corner = forward - right * (step * f64::from(width) / 2.0) - down * half;
        View { scene, corner, right: right * step, down: down * step }
    }

    /// The colour of a point, of `samples` by `samples` rays.
    pub fn point(&self, x: u32, y: u32, samples: u32) -> [u8; 3] {
        let mut sum = Vector::default();
        for sub in 0..samples * samples {
            let place =
                |whole: u32, part: u32| f64::from(whole) + (f64::from(part) + 0.5) / f64::from(samples);
            let (across, along) = (place(x, sub % samples), place(y, sub / samples));
            let to = (self.corner + self.right * across + self.down * along).normal();
            sum = sum + self.colour(&Ray { from: self.scene.camera.at, to }, DEPTH);
        }
        let mean = sum * (1.0 / f64::from(samples * samples));
        // A square root stands for the display's gamma: it is the same on every machine, which a power is not.
        [mean.x, mean.y, mean.z].map(|part| (part.clamp(0.0, 1.0).sqrt() * 255.0).round() as u8)
    }

    fn colour(&self, ray: &Ray, depth: u32) -> Vector {
        let Some(hit) = self.nearest(ray) else {
            let (low, high) = self.scene.sky;
            let up = ray.to.y.max(0.0);
            return low * (1.0 - up) + high * up;
        };
        let own = self.lit(ray, &hit);
        if hit.material.mirror <= 0.0 || depth == 0 {
            return own;
        }
        let mirrored = Ray { from: hit.at, to: ray.to.mirrored(hit.normal).normal() };
        own * (1.0 - hit.material.mirror) + self.colour(&mirrored, depth - 1) * hit.material.mirror
    }

    fn lit(&self, ray: &Ray, hit: &Hit<'_>) -> Vector {
        let dark = (hit.at.x.floor() + hit.at.z.floor()).rem_euclid(2.0) >= 1.0;
        let own = hit.material.checker.filter(|_| dark).unwrap_or(hit.material.colour);
        let mut sum = own.times(self.scene.ambient);
        for &(at, colour) in &self.scene.lights {
            let way = at - hit.at;
            let (distance, to) = (way.length(), way.normal());
            let slant = to.dot(hit.normal);
            if slant <= 0.0 || self.is_dark(&Ray { from: hit.at, to }, distance) {
                continue;
            }
            sum = sum + own.times(colour) * slant;
            if hit.material.shine > 0 {
                let gleam = to.mirrored(hit.normal).dot(ray.to).max(0.0).powi(hit.material.shine);
                sum = sum + colour * (0.5 * gleam);
            }
        }
        sum
    }

    fn is_dark(&self, ray: &Ray, distance: f64) -> bool {
        self.scene.things.iter().any(|(shape, _)| shape.meets(ray).is_some_and(|at| at < distance))
    }

    fn nearest(&self, ray: &Ray) -> Option<Hit<'_>> {
        let meets = |(shape, material): &'a (SceneShape, usize)| Some((shape.meets(ray)?, shape, *material));
        let (way, shape, material) =
            self.scene.things.iter().filter_map(meets).min_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
        let at = ray.from + ray.to * way;
        let normal = shape.normal(at);
        let normal = if normal.dot(ray.to) > 0.0 { -normal } else { normal };
        Some(Hit { at, normal, material: &self.scene.materials[material] })
    }
}

impl SceneShape {
    /// How far along the ray it is met.
    fn meets(&self, ray: &Ray) -> Option<f64> {
        let way = match self {
            SceneShape::Sphere { at, radius } => {
                let off = ray.from - *at;
                let half = off.dot(ray.to);
                let square = half * half - off.dot(off) + radius * radius;
                let root = (square >= 0.0).then(|| square.sqrt())?;
                if -half - root > NEAR { -half - root } else { -half + root }
            }
            SceneShape::Triangle { a, ab, ac } => {
                let across = ray.to.cross(*ac);
                let scale = 1.0 / ab.dot(across);
                let off = ray.from - *a;
                let u = off.dot(across) * scale;
                let along = off.cross(*ab);
                let v = ray.to.dot(along) * scale;
                let inside = u >= 0.0 && v >= 0.0 && u + v <= 1.0;
                inside.then(|| ac.dot(along) * scale)?
            }
            SceneShape::Floor { height } => (height - ray.from.y) / ray.to.y,
        };
        (way > NEAR && way.is_finite()).then_some(way)
    }

    fn normal(&self, at: Vector) -> Vector {
        match self {
            SceneShape::Sphere { at: middle, .. } => (at - *middle).normal(),
            SceneShape::Triangle { ab, ac, .. } => ab.cross(*ac).normal(),
            SceneShape::Floor { .. } => Vector::new(0.0, 1.0, 0.0),
        }
    }
}
