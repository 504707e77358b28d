//! Checks what a kernel is called with.

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::array::ArrayData;
use crate::ir::ty::Sizes;
use crate::ir::{Array, Extent, GridAxis, Kernel};

/// The grid's extents, and each parameter's array if it takes one.
pub(super) type Bound<'a> = (Vec<i64>, Vec<Option<&'a Array>>);

/// Checks the inputs against the parameters.
pub(super) fn bind<'a>(kernel: &Kernel, inputs: &'a [Array]) -> Result<Bound<'a>, Diagnostics> {
    let mut problems = Diagnostics::default();
    let n_extents = n_extent_operands(kernel);
    let takers: Vec<usize> =
        (0..kernel.params.len()).filter(|&idx| kernel.params[idx].kind.is_input()).collect();
    if inputs.len() != n_extents + takers.len() {
        let names: Vec<&str> = takers.iter().map(|&idx| kernel.params[idx].name.as_str()).collect();
        let scalars =
            if n_extents == 0 { String::new() } else { format!("{n_extents} grid extents, then ") };
        problems.push(input_error(
            kernel,
            format!(
                "`{}` takes {} arrays ({scalars}{}), but {} were given",
                kernel.name,
                n_extents + takers.len(),
                names.join(", "),
                inputs.len()
            ),
        ));
        return Err(problems);
    }
    let (scalars, inputs) = inputs.split_at(n_extents);
    let mut arrays = vec![None; kernel.params.len()];
    for (&idx, array) in takers.iter().zip(inputs) {
        check_array(kernel, idx, array, &mut problems);
        arrays[idx] = Some(array);
    }
    let extents: Vec<i64> =
        kernel.grid.iter().map(|axis| extent(kernel, axis, scalars, &mut problems)).collect();
    // Beyond this a run would take days, and numbering the steps much memory.
    const MAX_STEPS: i64 = 1 << 32;
    let n_steps = extents.iter().try_fold(1_i64, |product, &extent| product.checked_mul(extent));
    if n_steps.is_none_or(|n| n > MAX_STEPS) {
        problems.push(input_error(
            kernel,
            format!("the grid {extents:?} has more steps than the interpreter runs, {MAX_STEPS}"),
        ));
    }
    if problems.is_empty() { Ok((extents, arrays)) } else { Err(problems) }
}

/// A call that does not fit the kernel as a whole.
fn input_error(kernel: &Kernel, message: String) -> Diagnostic {
    Diagnostic::error(Code::INTERP_INPUT, message).at_opt(kernel.span(kernel.loc), "in this kernel")
}

/// The number of leading scalar operands that give grid extents.
fn n_extent_operands(kernel: &Kernel) -> usize {
    let operand = |axis: &GridAxis| match axis.extent {
        Extent::Static(_) => 0,
        Extent::Dynamic { operand } => operand + 1,
    };
    kernel.grid.iter().map(operand).max().unwrap_or(0)
}

fn check_array(kernel: &Kernel, idx: usize, array: &Array, problems: &mut Diagnostics) {
    let param = &kernel.params[idx];
    let shape = param.array_shape();
    if array.dtype() == param.dtype && *array.shape() == *shape {
        return;
    }
    let diagnostic = Diagnostic::error(
        Code::INTERP_INPUT,
        format!(
            "`{}` is {}{}, but the array given for it is {}{}",
            param.name,
            param.dtype,
            Sizes(&shape),
            array.dtype(),
            Sizes(array.shape())
        ),
    );
    problems.push(diagnostic.at_opt(kernel.span(param.loc), "declared here"));
}

/// The steps along an axis; 1 in place of what is not possible, which is then in `problems`.
fn extent(kernel: &Kernel, axis: &GridAxis, scalars: &[Array], problems: &mut Diagnostics) -> i64 {
    let name = &axis.name;
    let extent = match axis.extent {
        Extent::Static(n) => n as i64,
        Extent::Dynamic { operand } => match scalars[operand].data() {
            ArrayData::I32(values) if values.len() == 1 => i64::from(values[0]),
            _ => {
                let (dtype, shape) = (scalars[operand].dtype(), Sizes(scalars[operand].shape()));
                problems.push(input_error(
                    kernel,
                    format!(
                        "the extent of grid axis `{name}` is an i32 array of one element, but {dtype}{shape} was given"
                    ),
                ));
                return 1;
            }
        },
    };
    if extent < 1 {
        problems.push(input_error(
            kernel,
            format!("grid axis `{name}` has {extent} steps: a kernel runs at least once"),
        ));
    }
    extent.max(1)
}
