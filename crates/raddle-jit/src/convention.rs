//! Owns: how compiled code is entered, and how it calls the machine.
//! May use: `cranelift-codegen`, `cranelift-frontend`.
//! Never: code.

use cranelift_codegen::ir::{
    AbiParam, ExternalName, GlobalValueData, InstBuilder as _, MemFlagsData, Signature, UserExternalName,
    Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;

/// A slot of the frame is always there, and aligned.
pub(crate) const SLOT: MemFlagsData = MemFlagsData::trusted();

/// Where something lies that code names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NamedPlace {
    /// At that address.
    At(usize),
    /// So many bytes behind the symbol of that number, in an object file.
    Behind(u32, usize),
}

impl NamedPlace {
    /// So many bytes behind it.
    pub(crate) fn plus(self, bytes: usize) -> NamedPlace {
        match self {
            NamedPlace::At(address) => NamedPlace::At(address + bytes),
            NamedPlace::Behind(symbol, before) => NamedPlace::Behind(symbol, before + bytes),
        }
    }

    /// Its address.
    pub(crate) fn value(self, ins: &mut FunctionBuilder<'_>) -> Value {
        match self {
            NamedPlace::At(address) => ins.ins().iconst(types::I64, address as i64),
            NamedPlace::Behind(index, bytes) => {
                let name = UserExternalName { namespace: 0, index };
                let name = ExternalName::User(ins.func.declare_imported_user_function(name));
                let offset = (bytes as i64).into();
                let symbol = GlobalValueData::Symbol { name, offset, colocated: false, tls: false };
                let symbol = ins.func.create_global_value(symbol);
                ins.ins().symbol_value(types::I64, symbol)
            }
        }
    }
}

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
