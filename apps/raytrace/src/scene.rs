//! Owns: scenes and the text that they are written in.
//! May use: `vector`.
//! Never: a file; the caller reads it.
//!
//! One object per line; `#` begins a comment. Numbers are decimal, vectors are three of them.
//!
//! | line | means |
//! |---|---|
//! | `camera AT TO ANGLE` | where it stands, what it looks at, the vertical angle of view in degrees |
//! | `sky LOW HIGH` | colours at the horizon and overhead |
//! | `ambient COLOUR` | the light that comes from everywhere |
//! | `light AT COLOUR` | a point of light |
//! | `material NAME COLOUR SHINE MIRROR` | `SHINE`: how small its highlight is, even; 0: none; `MIRROR`: from 0 to 1 |
//! | `checker NAME COLOUR` | that material has a second colour, in squares of side 1 |
//! | `sphere AT RADIUS NAME` | of the material `NAME` |
//! | `triangle A B C NAME` | seen from both sides |
//! | `floor HEIGHT NAME` | a level plane without end |

use std::collections::BTreeMap;

use crate::vector::Vector;

/// An object that a ray may hit.
#[derive(Clone, Debug)]
pub enum SceneShape {
    /// A ball.
    Sphere {
        /// Its middle.
        at: Vector,
        /// Its radius.
        radius: f64,
    },
    /// One corner, and the ways to the others.
    Triangle {
        /// The corner.
        a: Vector,
        /// From it to the second.
        ab: Vector,
        /// From it to the third.
        ac: Vector,
    },
    /// A level plane.
    Floor {
        /// Where it lies.
        height: f64,
    },
}

/// A material.
#[derive(Clone, Debug)]
pub struct Material {
    /// What it reflects of the light.
    pub colour: Vector,
    /// The colour of every other square.
    pub checker: Option<Vector>,
    /// How small its highlight is; 0: it has none.
    pub shine: i32,
    /// How much of its colour is what it mirrors.
    pub mirror: f64,
}

/// Where the picture is taken from.
#[derive(Clone, Debug)]
pub struct Camera {
    /// Where it stands.
    pub at: Vector,
    /// What it looks at.
    pub to: Vector,
    /// The vertical angle of view, in degrees.
    pub angle: f64,
}

/// A scene.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Where it is seen from.
    pub camera: Camera,
    /// Its colours at the horizon and overhead.
    pub sky: (Vector, Vector),
    /// The light that comes from everywhere.
    pub ambient: Vector,
    /// Places and colours of the lights.
    pub lights: Vec<(Vector, Vector)>,
    /// The materials, by number.
    pub materials: Vec<Material>,
    /// The objects, each with the number of its material.
    pub things: Vec<(SceneShape, usize)>,
}

impl Scene {
    /// Reads a scene.
    ///
    /// ```
    /// use raytrace::Scene;
    /// let error = Scene::read("camera 0 0 0  0 0 1  60\nsphere 0 0 5  1  glass").unwrap_err();
    /// assert_eq!(error, "line 2: no material `glass` stands above");
    /// ```
    ///
    /// # Errors
    /// A sentence with the number of the line.
    pub fn read(text: &str) -> Result<Scene, String> {
        let mut reader = Reader::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            if let Some((verb, rest)) = words.split_first() {
                reader
                    .line(verb, Words { rest, verb })
                    .map_err(|what| format!("line {}: {what}", index + 1))?;
            }
        }
        let camera = reader.camera.ok_or("the scene has no `camera`")?;
        let Reader { sky, ambient, lights, materials, things, .. } = reader;
        Ok(Scene { camera, sky, ambient, lights, materials, things })
    }
}

#[derive(Default)]
struct Reader {
    camera: Option<Camera>,
    sky: (Vector, Vector),
    ambient: Vector,
    lights: Vec<(Vector, Vector)>,
    materials: Vec<Material>,
    names: BTreeMap<String, usize>,
    things: Vec<(SceneShape, usize)>,
}

impl Reader {
    fn line(&mut self, verb: &str, mut words: Words<'_>) -> Result<(), String> {
        match verb {
            "camera" => {
                let (at, to, angle) = (words.vector()?, words.vector()?, words.number()?);
                self.camera = Some(Camera { at, to, angle });
            }
            "sky" => self.sky = (words.vector()?, words.vector()?),
            "ambient" => self.ambient = words.vector()?,
            "light" => self.lights.push((words.vector()?, words.vector()?)),
            "material" => {
                self.names.insert(words.name()?.to_owned(), self.materials.len());
                let (colour, shine, mirror) = (words.vector()?, words.number()?, words.number()?);
                self.materials.push(Material { colour, checker: None, shine: shine as i32, mirror });
            }
            "checker" => {
                let material = self.material(&mut words)?;
                self.materials[material].checker = Some(words.vector()?);
            }
            "sphere" => {
                let shape = SceneShape::Sphere { at: words.vector()?, radius: words.number()? };
                self.things.push((shape, self.material(&mut words)?));
            }
            "triangle" => {
                let (a, b, c) = (words.vector()?, words.vector()?, words.vector()?);
                self.things
                    .push((SceneShape::Triangle { a, ab: b - a, ac: c - a }, self.material(&mut words)?));
            }
            "floor" => {
                let shape = SceneShape::Floor { height: words.number()? };
                self.things.push((shape, self.material(&mut words)?));
            }
            _ => {
                let known = "camera sky ambient light material checker sphere triangle floor";
                return Err(format!("`{verb}` is none of: {known}"));
            }
        }
        words.end()
    }

    fn material(&self, words: &mut Words<'_>) -> Result<usize, String> {
        let name = words.name()?;
        self.names.get(name).copied().ok_or_else(|| format!("no material `{name}` stands above"))
    }
}

/// The words of a line behind the first.
struct Words<'a> {
    verb: &'a str,
    rest: &'a [&'a str],
}

impl<'a> Words<'a> {
    fn name(&mut self) -> Result<&'a str, String> {
        let (first, rest) =
            self.rest.split_first().ok_or_else(|| format!("`{}` wants more words", self.verb))?;
        self.rest = rest;
        Ok(first)
    }

    fn number(&mut self) -> Result<f64, String> {
        let word = self.name()?;
        word.parse().ok().filter(|n: &f64| n.is_finite()).ok_or_else(|| format!("`{word}` is no number"))
    }

    fn vector(&mut self) -> Result<Vector, String> {
        Ok(Vector::new(self.number()?, self.number()?, self.number()?))
    }

    fn end(&self) -> Result<(), String> {
        self.rest
            .first()
            .map_or(Ok(()), |word| Err(format!("`{word}` is one word too many for `{}`", self.verb)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, part: &str) {
        let error = Scene::read(text).unwrap_err();
        assert!(error.contains(part), "{error:?} does not say {part:?}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        refused("", "no `camera`");
        refused("# nothing\ncube 1 2 3", "line 2: `cube` is none of");
        refused("ambient 1 2", "`ambient` wants more words");
        refused("ambient 1 2 x", "`x` is no number");
        refused("ambient 1 2 nan", "`nan` is no number");
        refused("ambient 1 2 3 4", "`4` is one word too many");
    }

    #[test]
    fn the_scene_that_comes_along_is_one() {
        let scene = Scene::read(include_str!("../scenes/still-life.scene")).unwrap();
        assert!(scene.things.len() > 20 && scene.lights.len() == 2);
    }
}
