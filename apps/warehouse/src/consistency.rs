//! Owns: the conditions that hold between the tables at the end of a run.
//! May use: `items`, `tables`, `transactions`.
//! Never: a repair.
//!
//! They are those of TPC-C, clause 3.3.2, with their numbers, over the trees and the archive; and two more: the stocks
//! and the shared items agree on what was sold, and there are as many orders and payments as there were transactions. A
//! lost update would violate at least one of them.

use crate::items::Items;
use crate::tables::{District, Tables};
use crate::transactions::{TransactionKind, Warehouse};

/// The number of conditions.
pub const CONDITIONS: usize = 13;

/// The violated conditions, one line each.
pub fn violations(warehouses: &[Warehouse], items: &Items) -> Vec<String> {
    let mut found = Vec::new();
    for (number, warehouse) in warehouses.iter().enumerate() {
        let mut report = |what: &str| found.push(format!("warehouse {number}: {what}"));
        of_warehouse(warehouse, &mut report);
        for (district, place) in &warehouse.tables.districts {
            let mut report = |what: &str| report(&format!("district {district}: {what}"));
            of_orders(place, &mut report);
            of_lines(place, &mut report);
        }
    }
    let sold =
        |item: u32| warehouses.iter().filter_map(|w| w.tables.stock.get(&item)).map(|s| s.sold).sum::<u64>();
    for (item, count) in items.sold().into_iter().enumerate() {
        if sold(item as u32) != count {
            found.push(format!("item {item}: {count} were sold, and the stocks say {}", sold(item as u32)));
        }
    }
    found
}

fn of_warehouse(warehouse: &Warehouse, report: &mut impl FnMut(&str)) {
    let tables = &warehouse.tables;
    let of_districts: i64 = tables.districts.values().map(|d| d.year_to_date).sum();
    hold(tables.year_to_date == of_districts, "1: W_YTD is the sum of D_YTD", report);
    let paid: i64 = tables.history.by_district.values().sum();
    hold(tables.year_to_date == paid, "8: W_YTD is the sum of H_AMOUNT", report);
    let each = tables.districts.iter().all(|(number, district)| {
        district.year_to_date == tables.history.by_district.get(number).copied().unwrap_or(0)
    });
    hold(each, "9: D_YTD is the sum of H_AMOUNT", report);
    hold(balances(tables), "10, 12: C_BALANCE is what was delivered less what was paid", report);
    let orders: u64 = tables.districts.values().map(|d| u64::from(d.next_order) - 1).sum();
    let [made, paid] =
        [TransactionKind::NewOrder, TransactionKind::Payment].map(|kind| warehouse.done[kind as usize]);
    hold(orders + warehouse.rolled_back == made, "there are as many orders as were made", report);
    hold(tables.history.count == paid, "there are as many payments as were made", report);
}

fn balances(tables: &Tables) -> bool {
    tables.districts.values().all(|district| {
        let delivered: i64 =
            district.lines.values().filter(|line| line.delivered).map(|line| line.amount).sum();
        let balance: i64 = district.customers.values().map(|customer| customer.balance).sum();
        let paid: i64 = district.customers.values().map(|customer| customer.paid).sum();
        balance == delivered + district.archive.amount - paid && paid == district.year_to_date
    })
}

fn of_orders(place: &District, report: &mut impl FnMut(&str)) {
    let last = place.orders.last_key_value().map_or(0, |(number, _)| *number);
    hold(place.next_order - 1 == last, "2: D_NEXT_O_ID - 1 is the last order", report);
    let gap = match (place.new_orders.first(), place.new_orders.last()) {
        (Some(first), Some(last)) => (last - first + 1) as usize,
        _ => 0,
    };
    hold(place.new_orders.len() == gap, "3: the new orders have no gap", report);
    let matches =
        place.orders.iter().all(|(n, order)| order.carrier.is_none() == place.new_orders.contains(n));
    hold(matches, "5: an order has no carrier while it is new, and only then", report);
    let all = place.orders.len() as u64 + place.archive.orders;
    hold(all == u64::from(place.next_order) - 1, "no order is missing", report);
}

fn of_lines(place: &District, report: &mut impl FnMut(&str)) {
    let promised: u64 = place.orders.values().map(|order| u64::from(order.lines)).sum();
    let (lines, gone) = (place.lines.len() as u64, &place.archive);
    let agree = promised == lines && gone.lines_promised == gone.lines;
    hold(agree, "4: the sum of O_OL_CNT is the number of lines", report);
    let each = place.orders.iter().all(|(number, order)| {
        place.lines.range((*number, 0)..=(*number, u8::MAX)).count() == usize::from(order.lines)
    });
    hold(each, "6: O_OL_CNT is the number of an order's lines", report);
    let delivered = place.lines.iter().all(|((number, _), line)| {
        place.orders.get(number).is_some_and(|order| order.carrier.is_some() == line.delivered)
    });
    hold(delivered, "7: a line is delivered when its order has a carrier", report);
}

fn hold(condition: bool, what: &str, report: &mut impl FnMut(&str)) {
    if !condition {
        report(&format!("condition {what}, does not hold"));
    }
}
