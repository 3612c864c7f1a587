/// 1 − ½‖r̂ − ĉ‖² of two raw vectors in float64, in eight lanes.
fn raw_cosine(r: Vector<'_>, c: Vector<'_>) -> f64 {
    match (r, c) {
        (Vector::F32(r), Vector::F32(c)) => {
            let (norm_r, norm_c) = (lanes(r, r, |a, b| a * b).sqrt(), lanes(c, c, |a, b| a * b).sqrt());
            let squares = lanes(r, c, |r, c| {
                let d = r / norm_r - c / norm_c;
                d * d
            });
            1.0 - 0.5 * squares
        }
        _ => f64::NAN,
    }
}

fn lanes(a: &[f32], b: &[f32], f: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sums = [0.0f64; 8];
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..8 {
            sums[lane] += f(f64::from(a[lane]), f64::from(b[lane]));
        }
    }
    let sum = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    a_rest.iter().zip(b_rest).fold(sum, |sum, (a, b)| sum + f(f64::from(*a), f64::from(*b)))
}
