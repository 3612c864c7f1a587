//! Exact sums of float64 values: the order of the addends cannot show in the result.
//!
//! The sum is a fixed-point number wide enough for every finite float64, kept in limbs of 32 bits with room for
//! carries. Source of the idea: R. Neal, "Fast exact summation using small and large superaccumulators" (2015).

/// Weight of bit 0 is 2^−1074, the smallest subnormal; the largest finite value needs bit 2097, carries some more.
const LIMBS: usize = 68;
/// A limb takes this many additions of 32-bit parts before carries must move on.
const ADDITIONS: u32 = 1 << 30;

/// A sum that rounds once, at the end.
#[derive(Debug, Clone)]
pub struct ExactSum {
    /// Two's complement in base 2^32; limbs may be out of range by as much as `pending` additions allow.
    limbs: [i64; LIMBS],
    pending: u32,
}

impl Default for ExactSum {
    fn default() -> Self {
        ExactSum { limbs: [0; LIMBS], pending: 0 }
    }
}

impl ExactSum {
    /// Adds a finite value. The caller keeps NaN and infinities out.
    pub fn add(&mut self, value: f64) {
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as usize;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, position) = if exponent == 0 { (fraction, 0) } else { (fraction | (1 << 52), exponent - 1) };
        let (limb, shift) = (position / 32, position % 32);
        let wide = u128::from(mantissa) << shift;
        let sign = if value.is_sign_negative() { -1 } else { 1 };
        for part in 0..3 {
            self.limbs[limb + part] += sign * ((wide >> (32 * part)) as u32 as i64);
        }
        self.pending += 1;
        if self.pending == ADDITIONS {
            self.carry();
        }
    }

    /// Adds what another sum holds.
    pub fn merge(&mut self, mut other: ExactSum) {
        other.carry();
        self.carry();
        for (mine, theirs) in self.limbs.iter_mut().zip(other.limbs) {
            *mine += theirs;
        }
        self.carry();
    }

    /// Moves carries on: every limb but the last is then 0..2^32, and equal sums have equal limbs.
    fn carry(&mut self) {
        for i in 0..LIMBS - 1 {
            let carry = self.limbs[i] >> 32;
            self.limbs[i] &= 0xffff_ffff;
            self.limbs[i + 1] += carry;
        }
        self.pending = 0;
    }

    /// The canonical limbs, for saving.
    pub fn limbs(&self) -> Vec<i64> {
        let mut canonical = self.clone();
        canonical.carry();
        canonical.limbs.to_vec()
    }

    /// From saved limbs.
    pub fn from_limbs(limbs: &[i64]) -> Option<ExactSum> {
        Some(ExactSum { limbs: limbs.try_into().ok()?, pending: 0 })
    }

    /// The float64 nearest to the sum, ties to even; infinite if it lies beyond the largest finite value.
    pub fn value(&self) -> f64 {
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.limbs[LIMBS - 1] < 0;
        if negative {
            sum.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            sum.carry();
        }
        let Some(top) = sum.limbs.iter().rposition(|&limb| limb != 0) else { return 0.0 };
        let highest_bit = top * 32 + (63 - (sum.limbs[top] as u64).leading_zeros() as usize);
        let magnitude = if highest_bit < 53 {
            // Exact: subnormals and the smallest normals.
            f64::from_bits((sum.limbs[0] as u64) | ((sum.limbs[1] as u64) << 32))
        } else {
            let lowest_kept = highest_bit - 52;
            let mut mantissa = 0u64;
            for bit in (lowest_kept..=highest_bit).rev() {
                mantissa = (mantissa << 1) | sum.bit(bit);
            }
            let half = sum.bit(lowest_kept - 1) == 1;
            let below = (0..(lowest_kept - 1) / 32).any(|i| sum.limbs[i] != 0)
                || ((lowest_kept - 1) / 32 * 32..lowest_kept - 1).any(|bit| sum.bit(bit) == 1);
            // The exponent field of a value whose lowest mantissa bit weighs 2^(lowest_kept − 1074); a mantissa that
            // rounds up to 2^53 carries into the exponent by itself, up to infinity.
            let exponent = (lowest_kept + 1) as u64;
            if exponent >= 0x7ff {
                f64::INFINITY
            } else {
                let up = u64::from(half && (below || mantissa & 1 == 1));
                f64::from_bits((exponent << 52) + (mantissa - (1 << 52)) + up)
            }
        };
        if negative { -magnitude } else { magnitude }
    }

    fn bit(&self, bit: usize) -> u64 {
        ((self.limbs[bit / 32] as u64) >> (bit % 32)) & 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> f64 {
        let mut sum = ExactSum::default();
        values.iter().for_each(|&v| sum.add(v));
        sum.value()
    }

    #[test]
    fn one_value_comes_back_as_it_went_in() {
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = f64::from_bits(bits);
            if value.is_finite() && value != 0.0 {
                assert_eq!(sum(&[value]).to_bits(), value.to_bits(), "{value:e}");
            }
        }
        for value in [f64::MAX, f64::MIN_POSITIVE, 5e-324, -5e-324, f64::from_bits(0x000f_ffff_ffff_ffff), 1.0] {
            assert_eq!(sum(&[value]), value);
        }
    }

    #[test]
    fn sums_are_those_of_pythons_fsum() {
        // Right values by Python's math.fsum.
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e308, 1e308, -1e308]), 1e308);
        assert_eq!(sum(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(sum(&[1e16, 1.0, 1e-16]), 10000000000000002.0);
        assert_eq!(sum(&[1e-300, -1e-300, 5e-324]), 5e-324);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[9007199254740992.0, 1.0]), 9007199254740992.0);
        assert_eq!(sum(&[9007199254740994.0, 1.0]), 9007199254740996.0);
    }

    #[test]
    fn any_order_and_any_split_give_the_same_limbs() {
        let values: Vec<f64> = (1..3000).map(|i| (f64::from(i) * 1.7).tan() * 10f64.powi(i % 60 - 30)).collect();
        let mut forward = ExactSum::default();
        values.iter().for_each(|&v| forward.add(v));
        let mut split = ExactSum::default();
        for chunk in values.rchunks(7) {
            let mut part = ExactSum::default();
            chunk.iter().for_each(|&v| part.add(v));
            split.merge(ExactSum::from_limbs(&part.limbs()).expect("68 limbs"));
        }
        assert_eq!(forward.limbs(), split.limbs());
        assert_eq!(forward.value().to_bits(), split.value().to_bits());
    }
}
