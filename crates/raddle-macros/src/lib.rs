//! Owns: `#[raddle::main]`.
//! May use: `proc-macro2`, `quote`, `syn`.
//! Never: anything that a function of the crate `raddle` could do.
//!
//! The attribute turns `main` into the first process of the default runtime. Use it as `raddle::main`; the crate
//! `raddle` has its documentation.

use proc_macro::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::token::Unsafe;
use syn::{Error, Expr, Ident, ItemFn, Token, parenthesized, parse_macro_input};

/// `workers = 2, stack_size = 256 * 1024, unsafe(light)`
struct Arguments(Punctuated<Argument, Token![,]>);

enum Argument {
    Setting {
        name: Ident,
        value: Box<Expr>,
    },
    /// `unsafe(light)`: the keyword.
    Light(Unsafe),
}

const KNOWN: [&str; 2] = ["workers", "stack_size"];
const NONE_SUCH: &str = "no such argument; `#[raddle::main]` takes `workers = N`, `stack_size = BYTES`, and \
                         `unsafe(light)`, which has a condition: see `raddle::main`";

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Unsafe) {
            return parse_light(input);
        }
        let name: Ident = input.parse()?;
        if name == "light" {
            let what = "light processes have a condition that the compiler cannot check: see `raddle::main`, and \
                        write `unsafe(light)` if it holds";
            return Err(Error::new(name.span(), what));
        }
        if !KNOWN.iter().any(|known| name == known) {
            return Err(Error::new(name.span(), NONE_SUCH));
        }
        input.parse::<Token![=]>()?;
        Ok(Argument::Setting { name, value: input.parse()? })
    }
}

fn parse_light(input: ParseStream<'_>) -> syn::Result<Argument> {
    let keyword = input.parse()?;
    let inside;
    parenthesized!(inside in input);
    let name: Ident = inside.parse()?;
    if name != "light" || !inside.is_empty() {
        return Err(Error::new(name.span(), NONE_SUCH));
    }
    Ok(Argument::Light(keyword))
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Punctuated::parse_terminated(input).map(Arguments)
    }
}

/// Makes `main` the first process of the default runtime; see `raddle::main`.
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Arguments(arguments) = parse_macro_input!(arguments as Arguments);
    let function = parse_macro_input!(item as ItemFn);
    expand(&arguments, function).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(
    arguments: &Punctuated<Argument, Token![,]>,
    function: ItemFn,
) -> syn::Result<proc_macro2::TokenStream> {
    let signature = &function.sig;
    if signature.ident != "main" {
        return Err(Error::new_spanned(&signature.ident, "`#[raddle::main]` belongs on `fn main`"));
    }
    if !signature.inputs.is_empty() {
        return Err(Error::new_spanned(&signature.inputs, "`main` takes no arguments; see `std::env::args`"));
    }
    // The user's `main` becomes a function within: its result is reported in the process and need not be `Send`.
    let run = if signature.asyncness.is_some() {
        quote!(::raddle::__private::run_main(builder, || ::raddle::task::block_on(main())))
    } else {
        quote!(::raddle::__private::run_main(builder, main))
    };
    let settings = arguments.iter().map(|argument| match argument {
        Argument::Setting { name, value } => quote!(let builder = builder.#name(#value);),
        // The program's own keyword, by which it vouches for the condition.
        Argument::Light(keyword) => quote!(let builder = #keyword { builder.light_processes() };),
    });
    let (attributes, visibility, body) = (&function.attrs, &function.vis, &function.block);
    Ok(quote! {
        #(#attributes)*
        #visibility fn main() -> ::std::process::ExitCode {
            #signature #body
            let builder = ::raddle::Runtime::builder();
            #(#settings)*
            #run
        }
    })
}
