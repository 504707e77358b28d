//! Arguments that make no kernel are refused before anything is traced.

use systole::ir::DType;
use systole::target::V5E;
use systole_kernels::flash_attention::{Attention, Band, Blocks, Heads};
use systole_kernels::{matmul, softmax};

const HEADS: Heads = Heads { b: 1, h: 4, kv_h: 2, sq: 256, sk: 256, d: 64 };

fn refused(attention: &Attention, heads: Heads) {
    let problems = attention.kernel(&V5E, DType::F32, heads, false).unwrap_err();
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["kernel::argument"], "{problems}");
}

#[test]
fn refuses_scales_that_turn_the_mask_around() {
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        refused(&Attention { scale: Some(scale), ..Attention::new() }, HEADS);
    }
}

#[test]
fn refuses_heads_that_do_not_share_evenly() {
    for (h, kv_h) in [(3, 2), (2, 4), (4, 0)] {
        refused(&Attention::new(), Heads { h, kv_h, ..HEADS });
    }
    refused(&Attention::new(), Heads { sq: usize::MAX, ..HEADS });
}

#[test]
fn refuses_blocks_that_cut_nothing() {
    let good = Blocks {
        zq: 256,
        zk: 256,
        q_blocks: vec![(128, 128), (0, 128)],
        bk: 256,
        dt: 128,
        pipelined: false,
        vmem_limit_bytes: 32 << 20,
    };
    let attention = |blocks| Attention { blocks: Some(blocks), ..Attention::new().causal() };
    assert!(attention(good.clone()).kernel(&V5E, DType::F32, HEADS, false).is_ok());
    let mut bad = vec![good.clone(); 9];
    bad[0].zq = 0;
    bad[1].zk = 0;
    bad[2].bk = 0;
    bad[3].dt = 0;
    bad[4].dt = 100;
    bad[5].dt = usize::MAX;
    bad[6].q_blocks = vec![];
    bad[7].q_blocks = vec![(0, 128), (0, 128)];
    bad[8].q_blocks = vec![(0, 128), (128, 256)];
    for blocks in bad {
        refused(&attention(blocks), HEADS);
    }
}

#[test]
fn far_bands_see_everything_or_nothing() {
    let wide = Attention::new().sliding_window(usize::MAX);
    assert!(wide.kernel(&V5E, DType::F32, HEADS, false).is_ok());
    let all = Band { before: Some(usize::MAX), after: Some(usize::MAX), offset: 0 };
    assert_eq!(all.n_pairs(8, 8), 64);
    assert!(!Band { before: None, after: Some(0), offset: isize::MIN }.sees(0, 0));
}

#[test]
fn refuses_element_types_without_a_kernel() {
    let code = |problems: systole::diag::Diagnostics| problems.0[0].code.as_str();
    let product = matmul::build(&V5E, DType::I32, matmul::MatmulOptions::default(), [8, 8, 8]);
    assert_eq!(code(product.unwrap_err()), "kernel::argument");
    assert_eq!(code(softmax::build(&V5E, DType::I8, &[8, 8]).unwrap_err()), "kernel::argument");
}
