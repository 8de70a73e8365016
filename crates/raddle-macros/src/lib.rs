//! Owns: `#[raddle::main]`.
//! May use: nothing.
//! Never: anything that a function of the crate `raddle` could do; a crate that parses Rust.
//!
//! The attribute turns `main` into the first process of the default runtime. Use it as `raddle::main`; the crate
//! `raddle` has its documentation.
//!
//! It reads tokens as they come: two settings and the head of one function. `syn` and what it needs were a fifteenth of
//! the time that it took to compile `raddle`, and everything waited for them.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

const KNOWN: [&str; 2] = ["workers", "stack_size"];
const NONE_SUCH: &str = "no such argument; `#[raddle::main]` takes `workers = N`, `stack_size = BYTES`, and \
                         `unsafe(light)`, which has a condition: see `raddle::main`";
const LIGHT_IS_UNSAFE: &str = "light processes have a condition that the compiler cannot check: see `raddle::main`, \
                               and write `unsafe(light)` if it holds";

/// Makes `main` the first process of the default runtime; see `raddle::main`.
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = settings(arguments).and_then(|settings| Ok(MainFunction::read(item)?.expand(settings)));
    expanded.unwrap_or_else(Misuse::into_compile_error)
}

/// What is wrong with how the attribute is used, and where that is.
struct Misuse {
    at: Span,
    what: &'static str,
}

impl Misuse {
    fn new<T>(at: Span, what: &'static str) -> Result<T, Misuse> {
        Err(Misuse { at, what })
    }

    /// `compile_error! { "what" }`, all of it at that place.
    fn into_compile_error(self) -> TokenStream {
        let message = TokenStream::from(TokenTree::Literal(Literal::string(self.what)));
        let tokens = [
            TokenTree::Ident(Ident::new("compile_error", self.at)),
            TokenTree::Punct(Punct::new('!', Spacing::Alone)),
            TokenTree::Group(Group::new(Delimiter::Brace, message)),
        ];
        let at_place = tokens.into_iter().map(|mut token| {
            token.set_span(self.at);
            token
        });
        at_place.collect()
    }
}

/// The statements that apply `workers = 2, stack_size = 256 * 1024, unsafe(light)` to `builder`.
fn settings(arguments: TokenStream) -> Result<TokenStream, Misuse> {
    let mut arguments: Vec<TokenTree> = arguments.into_iter().collect();
    if arguments.last().is_some_and(|token| is_punct(token, ',')) {
        arguments.pop();
    }
    if arguments.is_empty() {
        return Ok(TokenStream::new());
    }
    arguments.split(|token| is_punct(token, ',')).map(setting).collect()
}

fn setting(argument: &[TokenTree]) -> Result<TokenStream, Misuse> {
    match argument {
        // The program's own keyword, by which it vouches for the condition.
        [TokenTree::Ident(keyword), TokenTree::Group(inside)] if is(keyword, "unsafe") => {
            if inside.delimiter() != Delimiter::Parenthesis || inside.stream().to_string() != "light" {
                return Misuse::new(inside.span(), NONE_SUCH);
            }
            let act = TokenTree::Group(Group::new(Delimiter::Brace, code("builder.light_processes()")));
            Ok(binding([TokenTree::Ident(keyword.clone()), act].into_iter().collect()))
        }
        [TokenTree::Ident(name), ..] if is(name, "light") => Misuse::new(name.span(), LIGHT_IS_UNSAFE),
        [TokenTree::Ident(name), equals, value @ ..]
            if KNOWN.iter().any(|known| is(name, known)) && is_punct(equals, '=') && !value.is_empty() =>
        {
            let value = value.iter().cloned().collect();
            let mut call = code("builder.");
            call.extend([
                TokenTree::Ident(name.clone()),
                TokenTree::Group(Group::new(Delimiter::Parenthesis, value)),
            ]);
            Ok(binding(call))
        }
        [first, ..] => Misuse::new(first.span(), NONE_SUCH),
        [] => Misuse::new(Span::call_site(), NONE_SUCH),
    }
}

/// `let builder = value;`
fn binding(value: TokenStream) -> TokenStream {
    [code("let builder ="), value, code(";")].into_iter().collect()
}

/// `fn main`, in the parts that go to different places.
struct MainFunction {
    /// Its attributes and visibility.
    before: TokenStream,
    /// From `async` or `fn` up to its result.
    signature: TokenStream,
    is_async: bool,
    body: TokenTree,
}

impl MainFunction {
    fn read(item: TokenStream) -> Result<MainFunction, Misuse> {
        const NO_FUNCTION: &str = "`#[raddle::main]` belongs on `fn main`";
        const TAKES_NONE: &str = "`main` takes no arguments; see `std::env::args`";
        let tokens = bare(item);
        // In an attribute, a visibility or a type behind brackets there is none at this level.
        let is_fn = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if is(word, "fn"));
        let found = tokens.iter().position(is_fn);
        let [before @ .., TokenTree::Group(body)] = &tokens[..] else {
            return Misuse::new(tokens.first().map_or_else(Span::call_site, TokenTree::span), NO_FUNCTION);
        };
        let Some(found) = found.filter(|at| *at < before.len() && body.delimiter() == Delimiter::Brace)
        else {
            return Misuse::new(tokens[0].span(), NO_FUNCTION);
        };
        match &before[found + 1..] {
            [TokenTree::Ident(name), ..] if is(name, "main") => {}
            [other, ..] => return Misuse::new(other.span(), NO_FUNCTION),
            [] => return Misuse::new(before[found].span(), NO_FUNCTION),
        }
        let is_group = |token: &&TokenTree| matches!(token, TokenTree::Group(_));
        if let Some(TokenTree::Group(inputs)) = before[found..].iter().find(is_group)
            && !inputs.stream().is_empty()
        {
            return Misuse::new(inputs.span(), TAKES_NONE);
        }
        let head = found - before[..found].iter().rev().take_while(|token| is_qualifier(token)).count();
        let is_async = before[head..found].iter().any(|token| token.to_string() == "async");
        let (before, signature) = before.split_at(head);
        Ok(MainFunction {
            before: before.iter().cloned().collect(),
            signature: signature.iter().cloned().collect(),
            is_async,
            body: TokenTree::Group(body.clone()),
        })
    }

    /// The user's `main` becomes a function within: its result is reported in the process and need not be `Send`.
    fn expand(self, settings: TokenStream) -> TokenStream {
        let run = if self.is_async {
            "::raddle::__private::run_main(builder, || ::raddle::task::block_on(main()))"
        } else {
            "::raddle::__private::run_main(builder, main)"
        };
        let builder = code("let builder = ::raddle::Runtime::builder();");
        let inside = [self.signature, self.body.into(), builder, settings, code(run)];
        let inside = Group::new(Delimiter::Brace, inside.into_iter().collect());
        let outer = code("fn main() -> ::std::process::ExitCode");
        [self.before, outer, TokenTree::Group(inside).into()].into_iter().collect()
    }
}

/// What may stand between a visibility and `fn`.
fn is_qualifier(token: &TokenTree) -> bool {
    match token {
        TokenTree::Ident(word) => {
            ["async", "const", "extern", "safe", "unsafe"].iter().any(|one| is(word, one))
        }
        TokenTree::Literal(_) => true,
        _ => false,
    }
}

/// Tokens without the invisible brackets that a macro puts around what it was given.
fn bare(tokens: TokenStream) -> Vec<TokenTree> {
    let one = |token: TokenTree| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => bare(group.stream()),
        other => vec![other],
    };
    tokens.into_iter().flat_map(one).collect()
}

fn is(word: &Ident, name: &str) -> bool {
    word.to_string() == name
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// Rust that is ours, at the place of the attribute.
fn code(text: &str) -> TokenStream {
    text.parse().expect("it is Rust")
}
