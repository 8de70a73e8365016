//! Owns: how compiled code is entered, and how it calls the machine.
//! May use: `cranelift-codegen`.
//! Never: code.

use cranelift_codegen::ir::{AbiParam, MemFlagsData, Signature, types};
use cranelift_codegen::isa::CallConv;

/// A slot of the frame is always there, and aligned.
pub(crate) const SLOT: MemFlagsData = MemFlagsData::trusted();

/// The signature of compiled code.
pub(crate) fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.extend([types::I64, types::I64, types::I32, types::I32].map(AbiParam::new));
    signature
}

pub(crate) fn helper_signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params.extend([types::I64, types::I64, types::I32].map(AbiParam::new));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}
