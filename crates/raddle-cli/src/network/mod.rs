//! Owns: who uses which end of a channel, and the processes of a program with the channels between them.
//! May use: `raddle-occam`.
//! Never: complains; `usage` says what is wrong.
//!
//! [`EndUses`] is what an editor shows of a channel: everybody who reads from it or writes to it, through calls too.
//! [`Network`] is the picture of a program: boxes of processes, and the channels that join them.

mod ends;
mod eval;
mod tree;

pub(crate) use ends::{EndUse, EndUses, Partner};
pub(crate) use tree::{Network, NetworkPort};

use raddle_occam::ast::{ExprId, ExprKind};
use raddle_occam::program::{NameId, Program};

/// The variable that an expression is, or is a part or an end of.
fn root(program: &Program, expr: ExprId) -> Option<NameId> {
    match &program.ast.expr(expr).kind {
        ExprKind::Name(_) => Some(program.name_of(expr)).filter(|&name| name != NameId::NONE),
        &ExprKind::Index { base, .. } | &ExprKind::Slice { base, .. } => root(program, base),
        &ExprKind::End(of, _) | &ExprKind::Clone(of) => root(program, of),
        _ => None,
    }
}
