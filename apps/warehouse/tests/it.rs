//! The workload as its users see it: the same seed gives the same tables, on any number of workers, and consistent
//! ones.

use std::time::Duration;

use raddle::{Balance, Runtime};
use warehouse::tables::Scale;
use warehouse::{Length, WaitMode, WarehousePlan, WarehouseResult, consistency, floor, run};

fn plan(form: WaitMode) -> WarehousePlan {
    let scale = Scale { districts: 3, customers: 30, items: 50, orders_kept: 20 };
    WarehousePlan { warehouses: 5, seed: 11, scale, form, length: Length::Transactions(2000) }
}

fn on(workers: usize, migration: bool, plan: &WarehousePlan) -> WarehouseResult {
    let balance = if migration { Balance::Fair } else { Balance::Steal };
    run(&Runtime::builder().workers(workers).migration(migration).balance(balance).build().unwrap(), plan)
}

#[test]
fn a_seed_decides_the_tables_on_any_number_of_workers() {
    let plan = plan(WaitMode::Busy);
    let expected = floor(&plan).checksums;
    for (workers, migration) in [(1, true), (2, true), (2, false), (3, true)] {
        let outcome = on(workers, migration, &plan);
        assert_eq!(outcome.checksums, expected, "{workers} workers, migration {migration}");
        assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    }
    let other = floor(&WarehousePlan { seed: 12, ..plan });
    assert_ne!(other.checksums, expected);
}

#[test]
fn threads_that_think_and_lock_lose_no_update() {
    let plan = plan(WaitMode::Thinking { every: 50, mean: Duration::from_micros(100) });
    let outcome = on(2, true, &plan);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    assert_eq!(outcome.checksums, floor(&plan).checksums, "think_times change no transaction");
    assert!(outcome.period.incidents() > 0, "nobody was ever idle");
}

#[test]
fn the_deck_gives_each_kind_its_share() {
    let plan = WarehousePlan { length: Length::Transactions(23 * 40), ..plan(WaitMode::Busy) };
    assert_eq!(floor(&plan).kinds.map(|count| count / 5 / 40), [10, 10, 1, 1, 1]);
}

#[test]
fn what_is_inconsistent_is_found() {
    use warehouse::items::Items;
    use warehouse::transactions::Warehouse;
    let plan = plan(WaitMode::Busy);
    let items = Items::of(&plan);
    let mut warehouse = Warehouse::new(plan.scale, plan.seed, 0);
    (0..2000).for_each(|_| warehouse.transact(&items));
    let found = |warehouse: &Warehouse| consistency::violations(std::slice::from_ref(warehouse), &items);
    assert_eq!(found(&warehouse), [""; 0]);
    let spoil = |change: fn(&mut Warehouse), condition: &str| {
        let mut spoiled = warehouse.clone();
        change(&mut spoiled);
        let found = found(&spoiled);
        assert!(found.iter().any(|line| line.contains(condition)), "{condition} is not in {found:?}");
    };
    spoil(|w| w.tables.year_to_date += 1, "condition 1:");
    spoil(|w| w.tables.history.count += 1, "as many payments");
    spoil(|w| _ = w.tables.districts.get_mut(&0).unwrap().orders.pop_last(), "condition 2:");
    spoil(|w| _ = w.tables.districts.get_mut(&1).unwrap().lines.pop_first(), "condition 4:");
    spoil(|w| w.tables.stock.get_mut(&7).unwrap().sold += 1, "item 7");
}

#[test]
fn a_timed_run_counts_only_what_it_measures() {
    let length = Length::Time { warm_up: Duration::from_millis(20), measured: Duration::from_millis(100) };
    let plan = WarehousePlan { length, ..plan(WaitMode::Busy) };
    let outcome = on(2, true, &plan);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    let counted: u64 = outcome.done.iter().sum();
    assert!(counted > 0 && counted < outcome.kinds.iter().sum(), "{outcome}");
    assert!(outcome.to_string().contains("thread spread"), "{outcome}");
}
