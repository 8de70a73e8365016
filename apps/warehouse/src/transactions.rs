//! Owns: the five transactions, and the deck from which a warehouse draws them.
//! May use: `items`, `random`, `tables`.
//! Never: a thread or a clock.
//!
//! The mix is that of SPECjbb2000: of 23 transactions 10 are new orders, 10 payments, and one each an order
//! status, a delivery and a stock level. The deck is reshuffled when it is empty (TPC-C, clause 5.2.4.2), so that
//! the mix is exact over each 23.

use crate::items::Items;
use crate::random::RandomStream;
use crate::tables::{CustomerOrder, OrderLine, Payment, Scale, Tables};

/// The kinds of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionKind {
    /// Enters an order of 5 to 15 lines; one in a hundred is rolled back.
    NewOrder,
    /// A customer, found by number or by name, pays.
    Payment,
    /// Reads a customer's last order.
    OrderStatus,
    /// Delivers the oldest new order of each district.
    Delivery,
    /// Reads which items of the last twenty orders are running out.
    StockLevel,
}

/// Each kind with its name and its cards in the deck.
pub const KINDS: [(TransactionKind, &str, usize); 5] = [
    (TransactionKind::NewOrder, "new order", 10),
    (TransactionKind::Payment, "payment", 10),
    (TransactionKind::OrderStatus, "order status", 1),
    (TransactionKind::Delivery, "delivery", 1),
    (TransactionKind::StockLevel, "stock level", 1),
];

/// One warehouse: its tables, the stream that decides what happens next, and what it has done.
#[derive(Clone, Debug)]
pub struct Warehouse {
    /// Its tables.
    pub tables: Tables,
    /// Transactions by kind, in the order of [`KINDS`].
    pub done: [u64; KINDS.len()],
    /// Orders that were rolled back because an item did not exist.
    pub rolled_back: u64,
    scale: Scale,
    random: RandomStream,
    deck: Vec<TransactionKind>,
    /// A checksum of what the reading transactions read.
    seen: u64,
}

impl Warehouse {
    /// The warehouse of this seed and number, before its first transaction.
    pub fn new(scale: Scale, seed: u64, number: u64) -> Self {
        let mut random = RandomStream::new(seed, number + 1);
        let tables = Tables::fill(scale, &mut random);
        Warehouse { tables, done: [0; KINDS.len()], rolled_back: 0, scale, random, deck: Vec::new(), seen: 0 }
    }

    /// Performs the next transaction.
    pub fn transact(&mut self, items: &Items) {
        let kind = self.draw();
        match kind {
            TransactionKind::NewOrder => self.new_order(items),
            TransactionKind::Payment => self.payment(),
            TransactionKind::OrderStatus => self.order_status(),
            TransactionKind::Delivery => self.deliver(),
            TransactionKind::StockLevel => self.stock_level(),
        }
        self.done[kind as usize] += 1;
    }

    /// A checksum over all transactions so far.
    pub fn checksum(&self) -> u64 {
        let balances = self.tables.districts.values().flat_map(|d| d.customers.values()).map(|c| c.balance);
        let mixed = balances.fold(self.seen, |sum, balance| sum.rotate_left(7).wrapping_add(balance as u64));
        mixed ^ self.tables.year_to_date as u64
    }

    fn draw(&mut self) -> TransactionKind {
        if self.deck.is_empty() {
            self.deck.extend(KINDS.iter().flat_map(|(kind, _, cards)| std::iter::repeat_n(*kind, *cards)));
            for last in (1..self.deck.len()).rev() {
                self.deck.swap(last, self.random.below(last as u32 + 1) as usize);
            }
        }
        self.deck.pop().unwrap_or(TransactionKind::Payment)
    }

    fn district(&mut self) -> u8 {
        self.random.below(u32::from(self.scale.districts)) as u8
    }

    fn customer(&mut self) -> u32 {
        self.random.uneven(self.scale.customers)
    }

    fn see(&mut self, number: u64) {
        self.seen = self.seen.wrapping_mul(31).wrapping_add(number);
    }

    fn new_order(&mut self, items: &Items) {
        let (district, customer) = (self.district(), self.customer());
        let count = self.random.between(5, 15) as u8;
        let wanted: Vec<(u32, u32)> =
            (0..count).map(|_| (self.random.uneven(items.count()), self.random.between(1, 10))).collect();
        if self.random.below(100) == 0 {
            // One in a hundred orders an item that does not exist (TPC-C, clause 2.4.1.4) and is rolled back.
            self.rolled_back += 1;
            return;
        }
        let Some(place) = self.tables.districts.get_mut(&district) else { return };
        let number = place.next_order;
        place.next_order += 1;
        place.orders.insert(number, CustomerOrder { customer, carrier: None, lines: count });
        place.by_customer.insert((customer, number));
        place.new_orders.insert(number);
        for (line, &(item, quantity)) in wanted.iter().enumerate() {
            let stock = self.tables.stock.entry(item).or_default();
            let enough = stock.quantity >= quantity + 10;
            stock.quantity = if enough { stock.quantity - quantity } else { stock.quantity + 91 - quantity };
            stock.sold += u64::from(quantity);
            stock.orders += 1;
            let amount = i64::from(quantity) * items.price(item);
            place.lines.insert((number, line as u8), OrderLine { item, quantity, amount, delivered: false });
        }
        items.sell(&wanted);
    }

    fn payment(&mut self) {
        let (district, amount) = (self.district(), i64::from(self.random.between(100, 500_000)));
        let by_name = self.random.below(100) < 60;
        let customer = self.customer();
        let Some(place) = self.tables.districts.get_mut(&district) else { return };
        let name = place.customers.get(&customer).map_or(0, |c| c.name);
        let number = if by_name {
            // The one in the middle of those with that name (TPC-C, clause 2.5.2.2).
            let same: Vec<u32> = place.names.range((name, 0)..=(name, u32::MAX)).map(|(_, n)| *n).collect();
            same.get(same.len() / 2).copied().unwrap_or(customer)
        } else {
            customer
        };
        if let Some(customer) = place.customers.get_mut(&number) {
            customer.balance -= amount;
            customer.paid += amount;
            customer.payments += 1;
        }
        place.year_to_date += amount;
        self.tables.year_to_date += amount;
        self.tables.history.add(Payment { district, amount });
    }

    fn order_status(&mut self) {
        let (district, customer) = (self.district(), self.customer());
        let Some(place) = self.tables.districts.get(&district) else { return };
        let last = place.by_customer.range((customer, 0)..=(customer, u32::MAX)).next_back();
        let sum = last.map_or(0, |(_, order)| {
            place.lines.range((*order, 0)..=(*order, u8::MAX)).map(|(_, line)| line.amount as u64).sum()
        });
        self.see(sum);
    }

    fn deliver(&mut self) {
        let carrier = self.random.between(1, 10) as u8;
        let kept = self.scale.orders_kept;
        for place in self.tables.districts.values_mut() {
            let Some(number) = place.new_orders.pop_first() else { continue };
            let mut sum = 0;
            for (_, line) in place.lines.range_mut((number, 0)..=(number, u8::MAX)) {
                line.delivered = true;
                sum += line.amount;
            }
            let Some(order) = place.orders.get_mut(&number) else { continue };
            order.carrier = Some(carrier);
            if let Some(customer) = place.customers.get_mut(&order.customer) {
                customer.balance += sum;
                customer.deliveries += 1;
            }
            if place.orders.len() > kept {
                place.archive_oldest();
            }
        }
    }

    fn stock_level(&mut self) {
        let (district, threshold) = (self.district(), self.random.between(10, 20));
        let Some(place) = self.tables.districts.get(&district) else { return };
        let from = place.next_order.saturating_sub(20);
        let mut items: Vec<u32> = place.lines.range((from, 0)..).map(|(_, line)| line.item).collect();
        items.sort_unstable();
        items.dedup();
        let is_low = |item: &&u32| self.tables.stock.get(item).is_some_and(|s| s.quantity < threshold);
        let low = items.iter().filter(is_low).count();
        self.see(low as u64);
    }
}
