//! Whether a device is there.

use polariscope_diff::Device;
use polariscope_diff::cuda::{CudaError, Gpu};

/// Fails where networks cannot be computed on this machine: without a driver, or without that GPU.
pub fn open(device: Device) -> Result<(), CudaError> {
    match device {
        Device::Cpu => Ok(()),
        Device::Cuda(ordinal) => Gpu::open(ordinal).map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_there_and_no_machine_has_that_many_gpus() {
        assert!(open(Device::Cpu).is_ok());
        assert!(open(Device::Cuda(1 << 20)).is_err());
    }
}
