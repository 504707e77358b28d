//! The devices that run a kernel together, and how one addresses another.

use super::context::{At, Handle, Tracer, make, with};
use super::convert::{IntoScalar, Operand};
use super::handle::Scalar;
use super::semaphore::Semaphore;
use crate::diag::Code;
use crate::ir::ops::{Binary, ControlOp, Literal, Peer};
use crate::ir::{DType, Op, SemaphoreKind, Value};
use smallvec::SmallVec;
use std::panic::Location;

/// An axis of the mesh of devices, `mesh(ring = n)`.
#[derive(Clone, Copy, Debug)]
pub struct MeshAxis {
    axis: usize,
}

/// Another device or core, or this one: where a copy goes or whose semaphore is signalled.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    device: Option<Handle>,
    core: Option<Handle>,
}

/// The number of this device: devices of the mesh are numbered in row-major order.
#[track_caller]
pub fn device_id() -> Scalar<i32> {
    let at = Location::caller();
    Scalar::new(make(|t| t.device_id(at)))
}

/// A device by its number.
#[track_caller]
pub fn device(id: impl IntoScalar<i32>) -> Remote {
    let (id, at) = (id.operand(), Location::caller());
    Remote { device: Some(make(|t| t.number(id, at))), core: None }
}

/// A core of this device by its number.
#[track_caller]
pub fn core(index: impl IntoScalar<i32>) -> Remote {
    let (index, at) = (index.operand(), Location::caller());
    Remote { device: None, core: Some(make(|t| t.number(index, at))) }
}

/// The device at these places along axes of the mesh; along other axes it is where this one is.
#[track_caller]
pub fn device_at<const N: usize>(places: [(MeshAxis, Scalar<i32>); N]) -> Remote {
    let at = Location::caller();
    let places: Vec<(usize, Handle)> =
        places.iter().map(|(axis, index)| (axis.axis, index.handle)).collect();
    Remote { device: Some(make(|t| t.device_at(&places, at))), core: None }
}

/// The barrier semaphore, the only one that may be signalled on a device that may not have begun
/// the kernel yet. Each kernel has its own; its number among collectives is taken care of.
#[track_caller]
pub fn barrier_semaphore() -> Semaphore {
    let at = Location::caller();
    Semaphore::new(make(|t| t.barrier_semaphore(at)))
}

/// Waits until each of these devices has come to the same place: signals the barrier semaphore of
/// each, and waits for as many signals.
///
/// Each of them must do so with this device among its own. A kernel that copies or signals to
/// other devices begins with it: `barrier([ring.previous(), ring.next()])`.
#[track_caller]
pub fn barrier<const N: usize>(others: [Remote; N]) {
    let semaphore = barrier_semaphore();
    for other in others {
        semaphore.signal_to(other, 1);
    }
    if N > 0 {
        semaphore.wait(N as i32);
    }
}

impl MeshAxis {
    pub(super) fn new(axis: usize) -> MeshAxis {
        MeshAxis { axis }
    }

    /// The number of devices along it.
    pub fn size(self) -> usize {
        with(|t| t.mesh_size(self.axis)).unwrap_or(1)
    }

    /// Where this device is along it.
    #[track_caller]
    pub fn index(self) -> Scalar<i32> {
        let at = Location::caller();
        Scalar::new(make(|t| t.mesh_index(self.axis, at)))
    }

    /// The device at this place along it; along other axes it is where this one is.
    #[track_caller]
    pub fn at(self, index: impl IntoScalar<i32>) -> Remote {
        let (index, at) = (index.operand(), Location::caller());
        let device = make(|t| {
            let index = t.number(index, at);
            t.device_at(&[(self.axis, index)], at)
        });
        Remote { device: Some(device), core: None }
    }

    /// The device after this one; after the last comes the first.
    #[track_caller]
    pub fn next(self) -> Remote {
        let at = Location::caller();
        Remote { device: Some(make(|t| t.neighbour(self.axis, 1, at))), core: None }
    }

    /// The device before this one; before the first comes the last.
    #[track_caller]
    pub fn previous(self) -> Remote {
        let at = Location::caller();
        Remote { device: Some(make(|t| t.neighbour(self.axis, -1, at))), core: None }
    }
}

impl Remote {
    /// This device and core.
    pub(super) const SELF: Remote = Remote { device: None, core: None };

    /// A core of that device.
    #[track_caller]
    pub fn core(self, index: impl IntoScalar<i32>) -> Remote {
        Remote { core: core(index).core, ..self }
    }

    /// Which ids it has.
    pub(super) fn peer(self) -> Peer {
        Peer { device: self.device.is_some(), core: self.core.is_some(), subcore: false }
    }

    /// The ids, as operands of an op here.
    pub(super) fn operands(self, t: &mut Tracer, at: At) -> Option<SmallVec<[Value; 2]>> {
        let ids = self.device.into_iter().chain(self.core);
        ids.map(|id| t.operand(id, at)).collect()
    }
}

impl Tracer {
    fn mesh_size(&self, axis: usize) -> usize {
        self.builder.kernel().mesh.get(axis).map_or(1, |axis| axis.size)
    }

    fn device_id(&mut self, at: At) -> Handle {
        if self.builder.kernel().mesh.is_empty() {
            self.error_with_help(
                Code::TRACE_MESH,
                "the kernel runs on no mesh of devices",
                "declare one: `#[tpu_kernel(mesh(ring = n))]`",
                at,
            );
            return Handle::POISON;
        }
        self.emit(Op::Control(ControlOp::DeviceId), &[], at)
    }

    fn number(&mut self, number: Operand, at: At) -> Handle {
        match self.value(number, DType::I32, at) {
            Some(value) => self.handle(value),
            None => Handle::POISON,
        }
    }

    fn int(&mut self, value: usize, at: At) -> Operand {
        let value = self.constant(Literal::int(DType::I32, value as i64), at);
        Operand::Handle(self.handle(value))
    }

    /// How far apart the numbers of neighbours along an axis are.
    fn mesh_stride(&self, axis: usize) -> usize {
        let inner = self.builder.kernel().mesh.iter().skip(axis + 1);
        inner.map(|axis| axis.size).product()
    }

    fn scalar_op(&mut self, op: Binary, operands: [Operand; 2], at: At) -> Handle {
        self.binary(op, operands, DType::I32, at)
    }

    fn mesh_index(&mut self, axis: usize, at: At) -> Handle {
        let mut index = self.device_id(at);
        let (stride, size) = (self.mesh_stride(axis), self.mesh_size(axis));
        if stride > 1 {
            let stride = self.int(stride, at);
            index = self.scalar_op(Binary::Div, [Operand::Handle(index), stride], at);
        }
        if axis > 0 {
            let size = self.int(size, at);
            index = self.scalar_op(Binary::Rem, [Operand::Handle(index), size], at);
        }
        index
    }

    /// The number of the device at these places.
    fn device_at(&mut self, places: &[(usize, Handle)], at: At) -> Handle {
        let n_axes = self.builder.kernel().mesh.len();
        if let [(0, index)] = places
            && n_axes == 1
        {
            return *index;
        }
        let mut id: Option<Handle> = None;
        for axis in 0..n_axes.max(1) {
            let given = places.iter().find(|(given, _)| *given == axis);
            let index = match given {
                Some((_, index)) => *index,
                None => self.mesh_index(axis, at),
            };
            let stride = self.mesh_stride(axis);
            let part = match stride {
                1 => index,
                _ => {
                    let stride = self.int(stride, at);
                    self.scalar_op(Binary::Mul, [Operand::Handle(index), stride], at)
                }
            };
            id = Some(match id {
                None => part,
                Some(id) => {
                    let operands = [Operand::Handle(id), Operand::Handle(part)];
                    self.scalar_op(Binary::Add, operands, at)
                }
            });
        }
        id.unwrap_or(Handle::POISON)
    }

    fn neighbour(&mut self, axis: usize, step: i64, at: At) -> Handle {
        let size = self.mesh_size(axis);
        let index = self.mesh_index(axis, at);
        // `size - 1` further is one back, and never negative.
        let step = self.int(step.rem_euclid(size as i64) as usize, at);
        let size = self.int(size, at);
        let moved = self.scalar_op(Binary::Add, [Operand::Handle(index), step], at);
        let index = self.scalar_op(Binary::Rem, [Operand::Handle(moved), size], at);
        self.device_at(&[(axis, index)], at)
    }

    fn barrier_semaphore(&mut self, at: At) -> Handle {
        let semaphores = &self.builder.kernel().semaphores;
        let known = semaphores.iter().position(|array| array.kind == SemaphoreKind::Barrier);
        match known {
            Some(array) => {
                let value = self.builder.kernel().semaphore_ref(array);
                self.handle(value)
            }
            None => {
                self.declare_late(|t| t.add_semaphores("barrier", SemaphoreKind::Barrier, &[], at))
            }
        }
    }
}
