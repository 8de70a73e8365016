//! Owns: a ray tracer whose picture is drawn in tiles by threads, as `mtrt` of SPECjvm98 does.
//! May use: nothing.
//! Never: a pixel that depends on who drew it.
//!
//! ```
//! use raddle::Runtime;
//! use raytrace::{DrawPlan, Scene, draw};
//!
//! let scene = Scene::read(include_str!("../scenes/still-life.scene"))?;
//! let plan = DrawPlan { width: 64, height: 36, ..DrawPlan::default() };
//! let on = |workers| draw(&Runtime::builder().workers(workers).build().unwrap(), &scene, plan).pixels;
//! assert_eq!(on(1), on(2));
//! # Ok::<(), String>(())
//! ```

mod draw;

mod scene;
mod trace;
mod vector;

pub use draw::{DrawPlan, Picture, draw, floor};
pub use scene::{Camera, Material, Scene, SceneShape};
pub use trace::View;
pub use vector::Vector;
