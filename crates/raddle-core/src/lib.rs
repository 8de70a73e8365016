//! Owns: who runs, where and when.
//! May use: `raddle-context` for stacks and the switch.
//! Never: files, arguments, the terminal.
