//! Machine code of kernels: compiled by NVRTC once, kept in the user's cache folder.

use std::ffi::CString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use cudarc::nvrtc::{result, sys};

/// What changes the code beside the text: the kind of GPU and the compiler.
pub struct Target {
    /// As NVRTC names it: sm_90.
    architecture: String,
    compiler: (i32, i32),
}

impl Target {
    /// Code for GPUs of a compute capability.
    pub fn new((major, minor): (i32, i32)) -> Result<Self, String> {
        let mut compiler = (0, 0);
        // SAFETY: both pointers are to numbers that outlive the call.
        let asked = unsafe { sys::nvrtcVersion(&mut compiler.0, &mut compiler.1) };
        asked.result().map_err(|e| format!("{e:?}"))?;
        Ok(Target {
            architecture: format!("sm_{major}{minor}"),
            compiler,
        })
    }

    /// Machine code of a program, from the cache if it is there.
    pub fn code(&self, text: &str) -> Result<Vec<u8>, String> {
        let (major, minor) = self.compiler;
        let key = format!("{} {major}.{minor}\n{text}", self.architecture);
        let file = folder().map(|folder| folder.join(name(&key)));
        if let Some(code) = file.as_deref().and_then(|file| read(file, &key)) {
            return Ok(code);
        }
        let code = self.compile(text)?;
        if let Some(file) = &file {
            write(file, &key, &code);
        }
        Ok(code)
    }

    fn compile(&self, text: &str) -> Result<Vec<u8>, String> {
        let said = |e: result::NvrtcError| format!("{e:?}");
        let text = CString::new(text).map_err(|e| e.to_string())?;
        let program = Program(result::create_program(&text, None).map_err(said)?);
        let option = format!("--gpu-architecture={}", self.architecture);
        // SAFETY: the program lives until the end of this function.
        unsafe {
            result::compile_program(program.0, &[option]).map_err(|e| {
                let log = result::get_program_log(program.0).unwrap_or_default();
                let log: Vec<u8> = log.into_iter().map(|c| c as u8).collect();
                format!("{e:?}: {}", String::from_utf8_lossy(&log))
            })?;
        }
        let mut size = 0;
        // SAFETY: the program lives, and the memory is as long as it said.
        unsafe {
            sys::nvrtcGetCUBINSize(program.0, &mut size)
                .result()
                .map_err(said)?;
            let mut code = vec![0u8; size];
            sys::nvrtcGetCUBIN(program.0, code.as_mut_ptr().cast())
                .result()
                .map_err(said)?;
            Ok(code)
        }
    }
}

/// A program of the compiler.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: it was created, and is destroyed once. A refusal leaks a little memory.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// Where compiled kernels are kept; nowhere if the user has no such folder.
fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty());
    let cache = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&set("HOME")?).join(".cache")))?;
    Some(cache.join("polariscope").join("kernels"))
}

fn name(key: &str) -> String {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The code that was kept for `key`: the key, a zero, the code.
fn read(file: &Path, key: &str) -> Option<Vec<u8>> {
    let bytes = fs::read(file).ok()?;
    let rest = bytes.strip_prefix(key.as_bytes())?;
    Some(rest.strip_prefix(&[0])?.to_vec())
}

/// Keeps code. The cache saves time and nothing else, so a folder that cannot be written is no error; the name is
/// given last, so that no other process reads half a file.
fn write(file: &Path, key: &str, code: &[u8]) {
    let bytes = [key.as_bytes(), &[0], code].concat();
    let part = file.with_extension(std::process::id().to_string());
    let kept = file.parent().map_or(Ok(()), fs::create_dir_all);
    let kept = kept.and_then(|()| fs::write(&part, bytes));
    if kept.and_then(|()| fs::rename(&part, file)).is_err() {
        let _ = fs::remove_file(&part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file is read back for its own key and for no other, whatever is in it.
    #[test]
    fn kept_code_is_that_of_its_key() {
        let folder = std::env::temp_dir().join(format!("polariscope-kept-{}", std::process::id()));
        let file = folder.join(name("text"));
        write(&file, "text", &[0, 1, 2]);
        assert_eq!(read(&file, "text"), Some(vec![0, 1, 2]));
        assert_eq!(read(&file, "tex"), None);
        assert_eq!(read(&file, "text "), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
