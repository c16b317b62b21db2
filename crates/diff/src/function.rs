//! Elementwise functions. Their derivatives are formulas in the same set ([`crate::vjp`]).

/// An f64 that can be hashed and compared bit for bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bits(u64);

impl Bits {
    /// The number.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl From<f64> for Bits {
    fn from(x: f64) -> Self {
        Bits(x.to_bits())
    }
}

impl std::fmt::Debug for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.get())
    }
}

/// An elementwise function of one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// max(x, 0)
    Relu,
    /// 1 for x > 0, 0 otherwise
    Step,
    /// x for x > 0, slope·x otherwise
    LeakyRelu(Bits),
    /// 1 for x > 0, slope otherwise
    LeakyStep(Bits),
    /// x·Φ(x)
    Gelu,
    /// Φ(x) = (1 + erf(x/√2))/2
    NormalCdf,
    /// e^{−x²/2}/√(2π)
    NormalPdf,
    /// tanh x
    Tanh,
    /// erf x
    Erf,
    /// sin x
    Sin,
    /// cos x
    Cos,
    /// 1/(1+e^{−x})
    Sigmoid,
    /// ln(1+e^{βx})/β
    Softplus(Bits),
    /// |x|
    Abs,
    /// −1, 0 or 1
    Sign,
    /// e^x
    Exp,
    /// ln x
    Log,
    /// x^p
    Pow(Bits),
    /// asin x
    Asin,
    /// x asin x + √(1−x²), whose derivative is asin x
    AsinIntegral,
}
