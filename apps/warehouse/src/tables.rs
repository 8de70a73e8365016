//! Owns: the tables of one warehouse, each a tree in memory, and how they are filled.
//! May use: `random`.
//! Never: a transaction.
//!
//! The tables are TPC-C's, smaller. Money is in cents. Orders that have been delivered and are older than the last few
//! are taken out of the trees, so that a long run does not fill the memory; their sums stay in [`Archive`], so that
//! every consistency condition can still be checked over the whole run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::random::RandomStream;

/// How large the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Districts of a warehouse.
    pub districts: u8,
    /// Customers of a district.
    pub customers: u32,
    /// Items in the catalogue, and so rows of each warehouse's stock.
    pub items: u32,
    /// Orders of a district that stay in its trees.
    pub orders_kept: usize,
}

impl Default for Scale {
    /// A hundredth of TPC-C's items and a tenth of its customers: about 3 MB per warehouse.
    fn default() -> Self {
        Scale { districts: 10, customers: 300, items: 1000, orders_kept: 300 }
    }
}

/// A customer of a district.
#[derive(Clone, Debug, Default)]
pub struct Customer {
    /// The name by which a payment may find the customer.
    pub name: u32,
    /// The value of deliveries minus payments.
    pub balance: i64,
    /// All its payments.
    pub paid: i64,
    /// The number of payments.
    pub payments: u32,
    /// The number of delivered orders.
    pub deliveries: u32,
}

/// An order's head.
#[derive(Clone, Debug)]
pub struct CustomerOrder {
    /// The customer.
    pub customer: u32,
    /// The carrier; none while the order is new.
    pub carrier: Option<u8>,
    /// How many lines it has.
    pub lines: u8,
}

/// One line of an order.
#[derive(Clone, Debug)]
pub struct OrderLine {
    /// What is ordered.
    pub item: u32,
    /// How many.
    pub quantity: u32,
    /// Their total price.
    pub amount: i64,
    /// Whether the order has been delivered.
    pub delivered: bool,
}

/// An item as this warehouse has it.
#[derive(Clone, Debug, Default)]
pub struct Stock {
    /// How many are there.
    pub quantity: u32,
    /// How many were ever sold.
    pub sold: u64,
    /// In how many lines.
    pub orders: u64,
}

/// What left the trees of a district.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    /// How many orders.
    pub orders: u64,
    /// Their lines.
    pub lines: u64,
    /// How many lines their heads said they had.
    pub lines_promised: u64,
    /// What their lines cost.
    pub amount: i64,
}

/// A district of a warehouse.
#[derive(Clone, Debug, Default)]
pub struct District {
    /// What its customers have paid.
    pub year_to_date: i64,
    /// The number of its next order.
    pub next_order: u32,
    /// Its customers by number.
    pub customers: BTreeMap<u32, Customer>,
    /// Name and number of each customer.
    pub names: BTreeSet<(u32, u32)>,
    /// The heads of its orders by number.
    pub orders: BTreeMap<u32, CustomerOrder>,
    /// CustomerOrder and number of each line.
    pub lines: BTreeMap<(u32, u8), OrderLine>,
    /// Customer and number of each order that is in the tree.
    pub by_customer: BTreeSet<(u32, u32)>,
    /// Orders that are not delivered.
    pub new_orders: BTreeSet<u32>,
    /// The sums of what was taken out of the trees.
    pub archive: Archive,
}

/// A payment as it was recorded.
#[derive(Clone, Copy, Debug)]
pub struct Payment {
    /// Where it was made.
    pub district: u8,
    /// How much.
    pub amount: i64,
}

/// Payments: the last ones as rows, all of them as sums.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The last ones.
    pub rows: VecDeque<Payment>,
    /// How many there were.
    pub count: u64,
    /// Their sums.
    pub by_district: BTreeMap<u8, i64>,
}

/// How many rows of [`History`] are kept.
const HISTORY_KEPT: usize = 1000;

impl History {
    /// Records a payment.
    pub fn add(&mut self, payment: Payment) {
        self.count += 1;
        *self.by_district.entry(payment.district).or_default() += payment.amount;
        self.rows.push_back(payment);
        if self.rows.len() > HISTORY_KEPT {
            self.rows.pop_front();
        }
    }
}

/// All tables of one warehouse.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// The sum of its customers' payments.
    pub year_to_date: i64,
    /// Its districts by number.
    pub districts: BTreeMap<u8, District>,
    /// The stock of each item.
    pub stock: BTreeMap<u32, Stock>,
    /// Its payments.
    pub history: History,
}

impl Tables {
    /// Fills the tables for the beginning of a run: customers and stock, no orders.
    pub fn fill(scale: Scale, random: &mut RandomStream) -> Self {
        let stock = (0..scale.items)
            .map(|item| (item, Stock { quantity: random.between(10, 100), ..Stock::default() }))
            .collect();
        let districts = (0..scale.districts).map(|number| (number, district(scale, random))).collect();
        Tables { districts, stock, ..Tables::default() }
    }
}

fn district(scale: Scale, random: &mut RandomStream) -> District {
    let names = scale.customers.div_ceil(3);
    let customers: BTreeMap<u32, Customer> = (0..scale.customers)
        .map(|number| (number, Customer { name: random.uneven(names), ..Customer::default() }))
        .collect();
    let by_name = customers.iter().map(|(number, customer)| (customer.name, *number)).collect();
    District { customers, names: by_name, next_order: 1, ..District::default() }
}
