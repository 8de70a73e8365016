//! Owns: `Blas`: the `dgemm` of the installed BLAS, found at run time.
//! May use: `libc`.
//! Never: a product of its own.

use std::ffi::{CStr, CString, c_char, c_int};

/// Which libraries are tried, in turn: one thread each, since Raddle's workers share out the work.
const NAMES: [&CStr; 4] = [c"libblas.so.3", c"libopenblas.so.0", c"libblis.so.4", c"libblas.so"];

type Dgemm = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const c_int,
    *const c_int,
    *const c_int,
    *const f64,
    *const f64,
    *const c_int,
    *const f64,
    *const c_int,
    *const f64,
    *mut f64,
    *const c_int,
);

/// The installed BLAS.
#[derive(Clone, Copy)]
pub struct Blas {
    dgemm: Dgemm,
}

/// A matrix by columns, each so far from the one before.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// From its first element on.
    pub cells: &'a [f64],
    /// From a column to the next one.
    pub apart: usize,
}

impl Blas {
    /// Loads it: the library of that name or path, or one of the usual names.
    ///
    /// # Errors
    /// A sentence that says what to install.
    pub fn load(name: Option<&str>) -> Result<Blas, String> {
        let named = name.map(CString::new).transpose().map_err(|_| "a name with a zero byte".to_owned())?;
        let names = named.as_deref().map_or(NAMES.to_vec(), |name| vec![name]);
        for name in names {
            // SAFETY: the text ends with a zero. What a BLAS does when it is loaded is as sound as the BLAS.
            let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
            if library.is_null() {
                continue;
            }
            // SAFETY: the library is loaded, and stays.
            let found = unsafe { libc::dlsym(library, c"dgemm_".as_ptr()) };
            if found.is_null() {
                return Err(format!("`{}` has no `dgemm_`: it is no BLAS", name.to_string_lossy()));
            }
            // SAFETY: every BLAS has this function of Fortran's; its integers have 32 bits where nothing else is said.
            return Ok(Blas { dgemm: unsafe { std::mem::transmute::<*mut libc::c_void, Dgemm>(found) } });
        }
        let what = name.unwrap_or("libblas.so.3");
        Err(format!("there is no `{what}`: install libblas3, or libopenblas0-serial, which is faster"))
    }

    /// Adds the product of `a`, of `rows` rows and `inner` columns, and `b`, of `columns` columns, to `c`.
    ///
    /// # Panics
    /// If a matrix has less than that.
    pub fn add_product(
        &self,
        [rows, columns, inner]: [usize; 3],
        a: Columns<'_>,
        b: Columns<'_>,
        (c, c_apart): (&mut [f64], usize),
    ) {
        if rows == 0 || columns == 0 || inner == 0 {
            return;
        }
        let holds = |length: usize, apart: usize, high: usize, wide: usize| {
            apart >= high
                && (wide - 1)
                    .checked_mul(apart)
                    .and_then(|at| at.checked_add(high))
                    .is_some_and(|end| end <= length)
        };
        assert!(holds(a.cells.len(), a.apart, rows, inner), "the left matrix");
        assert!(holds(b.cells.len(), b.apart, inner, columns), "the right matrix");
        assert!(holds(c.len(), c_apart, rows, columns), "the product");
        let int = |n: usize| c_int::try_from(n).expect("a BLAS counts in 32 bits");
        let [m, n, k, lda, ldb, ldc] = [rows, columns, inner, a.apart, b.apart, c_apart].map(int);
        let (plain, one) = (c"N", 1.0);
        // SAFETY: the three matrices are as large as said, looked at above; the product is the caller's alone.
        unsafe {
            (self.dgemm)(
                plain.as_ptr(),
                plain.as_ptr(),
                &raw const m,
                &raw const n,
                &raw const k,
                &raw const one,
                a.cells.as_ptr(),
                &raw const lda,
                b.cells.as_ptr(),
                &raw const ldb,
                &raw const one,
                c.as_mut_ptr(),
                &raw const ldc,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_what_loops_compute() {
        let Ok(blas) = Blas::load(None) else { return };
        let (rows, columns, inner) = (3, 4, 2);
        let number = |at: usize| (at % 7) as f64 - 3.0;
        let a: Vec<f64> = (0..5 * inner).map(number).collect();
        let b: Vec<f64> = (0..inner * columns).map(number).collect();
        let mut c: Vec<f64> = (0..rows * columns).map(number).collect();
        let mut wanted = c.clone();
        for column in 0..columns {
            for row in 0..rows {
                for at in 0..inner {
                    wanted[row + rows * column] += a[row + 5 * at] * b[at + inner * column];
                }
            }
        }
        let (a, b) = (Columns { cells: &a, apart: 5 }, Columns { cells: &b, apart: inner });
        blas.add_product([rows, columns, inner], a, b, (&mut c, rows));
        assert_eq!(c, wanted);
    }

    #[test]
    fn what_is_no_blas_is_told() {
        let told = Blas::load(Some("libno-such-blas.so")).err().expect("there is none");
        assert!(told.contains("install libblas3"), "{told}");
        let told = Blas::load(Some("libc.so.6")).err().expect("it is none");
        assert!(told.contains("has no `dgemm_`"), "{told}");
    }
}
