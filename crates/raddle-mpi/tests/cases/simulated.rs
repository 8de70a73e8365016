//! The simulation of more ranks than there are, if SimGrid is here: the group `smpi` sets `TEST_SMPI`.

use raddle_mpi::simulate::{Scene, SimulatedModel, SummaScene};
use std::path::Path;
use std::time::Duration;

fn each(ranks: usize, scene: &Scene) -> Option<[f64; 4]> {
    if std::env::var_os("TEST_SMPI").is_none() {
        println!("not run: `cargo xtask test smpi` does");
        return None;
    }
    let scene = Scene { ranks, iterations: 2, ..scene.clone() };
    Some(SimulatedModel::ALL.map(|model| {
        let folder = format!("smpi-{ranks}-{}-{}", scene.cells, model.name());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        let time = scene.simulate(model, &folder).expect("it is simulated");
        let ratio = time.ratio();
        assert!((0.95..=1.05).contains(&ratio), "{ranks} ranks, {}: {time:?}, {ratio}", model.name());
        time.simulated.as_secs_f64()
    }))
}

#[test]
fn simulated_times_are_the_formulas() {
    for ranks in [8, 64] {
        let Some([sync, late, shared, dedicated]) = each(ranks, &Scene::default()) else { return };
        assert!((late / sync - 1.0).abs() < 0.01, "what nobody moves is not hidden: {late}, {sync}");
        assert!(shared < 0.8 * sync && shared < dedicated, "{shared}, {dedicated}, {sync}");
    }
}

#[test]
fn small_messages_and_grids_that_are_no_cubes_too() {
    // Latency counts here, and messages of 3 KB move while nobody looks.
    let scene = Scene { cells: 20, latency: Duration::from_micros(500), ..Scene::default() };
    for ranks in [2, 6, 12] {
        let Some([sync, late, shared, _]) = each(ranks, &scene) else { return };
        assert!((late / shared - 1.0).abs() < 1e-6 && shared < sync, "{late}, {shared}, {sync}");
    }
}

/// SUMMA on meshes of 4 to 64 ranks, bound by computing and bound by the wire.
#[test]
fn simulated_panels_take_what_the_formula_says() {
    if std::env::var_os("TEST_SMPI").is_none() {
        return println!("not run: `cargo xtask test smpi` does");
    }
    for (side, products) in [(2, 10e9), (2, 40e9), (3, 40e9), (4, 10e9), (8, 10e9)] {
        let scene = SummaScene { side, products_per_second: products, ..SummaScene::default() };
        let times = SummaScene::MODELS.map(|model| {
            let folder = format!("smpi-summa-{side}-{products}-{}", model.name());
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
            let time = scene.simulate_unless(model, &folder, &|| false).expect("it is simulated");
            let ratio = time.ratio();
            let what = format!("{side} x {side}, {products}, {}: {time:?}, {ratio}", model.name());
            println!("{what}");
            assert!((0.95..=1.05).contains(&ratio), "{what}");
            time.simulated
        });
        assert!(times[1] < times[0] && times[1] <= times[2], "{times:?}");
    }
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    for scene in [
        Scene { ranks: 0, ..Scene::default() },
        Scene { bytes_per_second: 0.0, ..Scene::default() },
        Scene { cell_ns: f64::NAN, ..Scene::default() },
        Scene { cells: 1 << 40, ..Scene::default() },
        // What it would take is no time that can be told.
        Scene { cell_ns: 1e300, ..Scene::default() },
        Scene { bytes_per_second: 1e-300, ..Scene::default() },
        Scene { kernel_ratio: 1e300, ..Scene::default() },
    ] {
        assert!(scene.formula(SimulatedModel::Dedicated).is_err(), "{scene:?}");
    }
    for scene in [
        SummaScene { side: 1, ..SummaScene::default() },
        SummaScene { panel: 4096, ..SummaScene::default() },
        SummaScene { products_per_second: 1e-300, ..SummaScene::default() },
    ] {
        assert!(scene.formula(SimulatedModel::Shared).is_err(), "{scene:?}");
    }
}
