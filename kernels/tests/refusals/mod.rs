//! Arguments that make no kernel are refused before anything is traced.

mod absurd;

use systole::prelude::*;
use systole::target::{GENERIC, V5E};
use systole_kernels::flash_attention::{Attention, Band, Blocks, Heads};
use systole_kernels::paged_attention::{self, PagedAttention, Sizes};
use systole_kernels::{encoder_attention, matmul, softmax};

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
fn refuses_encoders_whose_shape_makes_no_heads() {
    let refused = |shape: [usize; 3], heads: usize, told: &str| {
        let build =
            |target| encoder_attention::build(target, DType::F32, shape, heads, Precision::Highest);
        for target in [&V5E, &GENERIC] {
            let problem = build(target).unwrap_err().0.remove(0);
            assert_eq!(problem.code.as_str(), "kernel::argument");
            assert!(problem.message.contains(told), "{}", problem.message);
        }
    };
    refused([2, 128, 100], 12, "100 columns of [2, 128, 100] are not 12 heads");
    refused([2, 128, 384], 0, "are not 0 heads");
    for empty in [[0, 128, 384], [2, 0, 384], [2, 128, 0]] {
        refused(empty, 12, "are not 12 heads");
    }
    refused([2, 513, 384], 12, "513 tokens is longer than 512");
    refused([2, 128, 1 << 40], 1 << 30, "columns are more than");
}

#[test]
fn refuses_windows_of_no_keys() {
    refused(&Attention::new().sliding_window(0), HEADS);
    let own = Attention::new().sliding_window(0).sliding_window(1);
    assert!(own.kernel(&V5E, DType::F32, HEADS, false).is_ok());
}

#[test]
fn names_the_function_that_gives_another_shape() {
    let trace = |attention: &Attention| attention.kernel(&V5E, DType::F32, HEADS, false);
    let told = |attention: Attention, message: &str, line: u32| {
        let problems = trace(&attention).unwrap_err();
        assert_eq!(problems.0.len(), 1, "{problems}");
        assert_eq!(problems.0[0].message, message, "{problems}");
        let span = &problems.0[0].labels[0].span;
        assert_eq!((span.file.as_ref(), span.line), (file!(), line), "{problems}");
    };
    let mask = "the `mask` function of the attention gives `bool[256, 2]`, \
                but `bool[256, 256]` is needed";
    let line = line!() + 1;
    let attention = Attention::new().mask(|at| at.q.ge(iota([1, 2], 1)));
    told(attention, mask, line);
    let score = "the `score` function of the attention gives `f32[256]`, \
                 but `f32[256, 128]` is needed";
    let line = line!() + 1;
    let attention = Attention::new().causal().score(|s, _| s.row_max().reshape([256]));
    told(attention, score, line);
    // What repeats to the block is no mistake.
    let rows = Attention::new().mask(|at| at.q.ge(4)).score(|_, at| at.k.cast::<f32>());
    trace(&rows).unwrap();
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

const SIZES: Sizes = Sizes { b: 2, h: 4, kv_h: 2, d: 64, page: 16, pool: 32, entries: 16 };

#[test]
fn refuses_pages_that_make_no_kernel() {
    let told = |attention: PagedAttention, sizes: Sizes, message: &str| {
        let problems = attention.kernel(&V5E, DType::BF16, sizes).unwrap_err();
        assert_eq!(problems.0.len(), 1, "{problems}");
        assert_eq!(problems.0[0].code.as_str(), "kernel::argument", "{problems}");
        assert!(problems.0[0].message.contains(message), "{problems}");
        assert!(problems.0[0].help.is_some(), "{problems}");
    };
    let new = PagedAttention::new;
    assert!(new().kernel(&V5E, DType::BF16, SIZES).is_ok());
    for (h, kv_h) in [(3, 2), (2, 4), (4, 0), (0, 2)] {
        told(new(), Sizes { h, kv_h, ..SIZES }, "cannot share");
    }
    for page in [0, 8, 24, 2048] {
        told(new(), Sizes { page, ..SIZES }, "a page of");
    }
    for d in [0, 192] {
        told(new(), Sizes { d, ..SIZES }, "fill no registers");
    }
    told(new(), Sizes { b: 0, ..SIZES }, "0 sequences");
    told(new(), Sizes { entries: usize::MAX, ..SIZES }, "more than 2^28 tokens");
    told(new().window(0), SIZES, "a window of 0 tokens");
    told(new().soft_cap(0.0), SIZES, "the logits' cap is 0");
    told(PagedAttention { scale: Some(-1.0), ..new() }, SIZES, "the logits' factor is -1");
    let blocks = |pages, buffers, sequences| {
        let limit = 16 << 20;
        let blocks = paged_attention::Blocks { pages, buffers, sequences, vmem_limit_bytes: limit };
        PagedAttention { blocks: Some(blocks), ..new() }
    };
    assert!(blocks(8, 2, 1).kernel(&V5E, DType::BF16, SIZES).is_ok());
    told(blocks(12, 2, 1), SIZES, "2 buffers of 12 pages");
    told(blocks(8, 1, 1), SIZES, "1 buffers of 8 pages");
    told(blocks(512, 3, 1), SIZES, "3 buffers of 512 pages");
    told(blocks(4, 2, 1), SIZES, "a chunk of 4 pages of 16 tokens");
    told(blocks(8, 2, 0), SIZES, "a grid step of 0 sequences");
}
