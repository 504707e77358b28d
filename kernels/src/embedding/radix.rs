//! A stable sort of small integer keys with payloads.

/// A key and its payload in one word, so that a pass of the sort moves one word per item.
pub(crate) fn item(key: u32, payload: u32) -> u64 {
    u64::from(key) << 32 | u64::from(payload)
}

/// The key of an item.
pub(crate) fn key(item: u64) -> u32 {
    (item >> 32) as u32
}

/// The payload of an item.
pub(crate) fn payload(item: u64) -> u32 {
    item as u32
}

/// Sorts items by key; items of one key keep their order. Every key is below `n_keys`.
///
/// Least significant digit first: time is linear in the number of items, with one pass per 11 bits
/// of the largest key.
pub(crate) fn sort(mut items: Vec<u64>, n_keys: u64) -> Vec<u64> {
    // 2^11 counters, and the ends of as many output runs, stay in the first-level cache.
    const MAX_DIGIT_BITS: u32 = 11;
    if items.len() < 256 {
        items.sort_by_key(|&item| key(item));
        return items;
    }
    let key_bits = u64::BITS - n_keys.saturating_sub(1).leading_zeros();
    let n_passes = key_bits.div_ceil(MAX_DIGIT_BITS);
    let digit_bits = if n_passes == 0 { 0 } else { key_bits.div_ceil(n_passes) };
    let mut sorted = vec![0; items.len()];
    for pass in 0..n_passes {
        let shift = u32::BITS + pass * digit_bits;
        let digit = |item: u64| (item >> shift) as usize & ((1 << digit_bits) - 1);
        let mut ends = vec![0_u32; 1 << digit_bits];
        for &item in &items {
            ends[digit(item)] += 1;
        }
        let mut n_before = 0;
        for end in &mut ends {
            n_before += std::mem::replace(end, n_before);
        }
        for &item in &items {
            let at = &mut ends[digit(item)];
            sorted[*at as usize] = item;
            *at += 1;
        }
        std::mem::swap(&mut items, &mut sorted);
    }
    items
}
