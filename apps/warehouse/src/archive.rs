//! Owns: moving delivered orders from the trees to the archive.
//! May use: `tables`.
//! Never: an order that is not delivered.

use crate::tables::District;

impl District {
    /// Takes the oldest order out of the trees, if it is delivered, and adds it to the archive.
    pub fn archive_oldest(&mut self) {
        let Some((number, order)) = self.orders.first_key_value() else { return };
        if order.carrier.is_none() {
            return;
        }
        let (number, customer, lines) = (*number, order.customer, order.lines);
        self.orders.remove(&number);
        self.by_customer.remove(&(customer, number));
        self.archive.orders += 1;
        self.archive.lines_promised += u64::from(lines);
        while let Some(entry) = self.lines.first_entry() {
            if entry.key().0 != number {
                break;
            }
            self.archive.lines += 1;
            self.archive.amount += entry.remove().amount;
        }
    }
}
