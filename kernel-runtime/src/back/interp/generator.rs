//! The random number generator that stands in for a core's own: Philox 4x32 with 10 rounds (Salmon
//! et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), keyed by the seeds. The counter is
//! the number of the word in the tile and the number of the tile since seeding.

/// A seeded generator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generator {
    key: [u32; 2],
    n_tiles: u32,
}

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

impl Generator {
    /// A generator with these seeds.
    pub(super) fn new(seeds: [i32; 2]) -> Generator {
        Generator { key: seeds.map(i32::cast_unsigned), n_tiles: 0 }
    }

    /// The next `n` words.
    pub(super) fn fill(&mut self, words: &mut [i32]) {
        for (idx, words) in words.chunks_mut(4).enumerate() {
            let block = philox([idx as u32, self.n_tiles, 0, 0], self.key);
            for (word, random) in words.iter_mut().zip(block) {
                *word = random.cast_signed();
            }
        }
        self.n_tiles = self.n_tiles.wrapping_add(1);
    }
}

/// One block of Philox 4x32-10.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let wide = |a: u32, b: u32| u64::from(a) * u64::from(b);
        let (x, y) = (wide(MULTIPLIERS[0], counter[0]), wide(MULTIPLIERS[1], counter[2]));
        counter = [
            (y >> 32) as u32 ^ counter[1] ^ key[0],
            y as u32,
            (x >> 32) as u32 ^ counter[3] ^ key[1],
            x as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of the authors' own library.
    #[test]
    fn philox_gives_the_known_answers() {
        let ones = u32::MAX;
        let pi = [0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344];
        let cases = [
            ([0; 4], [0; 2], [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]),
            ([ones; 4], [ones; 2], [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]),
            (pi, [0xA409_3822, 0x299F_31D0], [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1]),
        ];
        for (counter, key, expected) in cases {
            assert_eq!(philox(counter, key), expected);
        }
    }

    #[test]
    fn tiles_differ_and_seeds_repeat() {
        let mut words = [[0; 7]; 3];
        let mut generator = Generator::new([3, -4]);
        generator.fill(&mut words[0]);
        generator.fill(&mut words[1]);
        Generator::new([3, -4]).fill(&mut words[2]);
        assert_ne!(words[0], words[1]);
        assert_eq!(words[0], words[2]);
    }
}
