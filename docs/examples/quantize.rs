// Quantizes a network by the C interface from Rust: quantize MODEL SAMPLES.h5 OUTPUT
//   rustc quantize.rs -l tare -o quantize
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

type Handle = *mut c_void; // opaque: a model, samples, a configuration, a result or an error

extern "C" {
    fn tare_error_message(error: Handle) -> *const c_char;
    fn tare_error_free(error: Handle);
    fn tare_free(text: *mut c_char);
    fn tare_model_open(path: *const c_char, model: *mut Handle) -> Handle;
    fn tare_model_free(model: Handle);
    fn tare_samples_open(path: *const c_char, model: Handle, config: Handle, job: *const c_void, samples: *mut Handle) -> Handle;
    fn tare_samples_free(samples: Handle);
    fn tare_quantize(model: Handle, samples: Handle, config: Handle, job: *const c_void, result: *mut Handle) -> Handle;
    fn tare_quantized_write(result: Handle, path: *const c_char, form: *const c_char) -> Handle;
    fn tare_quantized_summary(result: Handle, json: *mut *mut c_char) -> Handle;
    fn tare_quantized_free(result: Handle);
}

// An error of the library as one of Rust.
fn check(error: Handle) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(tare_error_message(error)).to_string_lossy().into_owned() };
    unsafe { tare_error_free(error) };
    Err(text)
}

fn quantize(words: &[CString]) -> Result<String, String> {
    let (mut model, mut samples, mut result) = (null_mut(), null_mut(), null_mut());
    let mut json = null_mut();
    let done = unsafe {
        check(tare_model_open(words[0].as_ptr(), &mut model))
            .and_then(|_| check(tare_samples_open(words[1].as_ptr(), model, null_mut(), null(), &mut samples)))
            .and_then(|_| check(tare_quantize(model, samples, null_mut(), null(), &mut result)))
            .and_then(|_| check(tare_quantized_write(result, words[2].as_ptr(), b"qdq\0".as_ptr().cast())))
            .and_then(|_| check(tare_quantized_summary(result, &mut json)))
            .map(|_| CStr::from_ptr(json).to_string_lossy().into_owned())
    };
    unsafe {
        tare_free(json);
        tare_quantized_free(result);
        tare_samples_free(samples);
        tare_model_free(model);
    }
    done
}

fn main() {
    let words: Vec<CString> = std::env::args().skip(1).map(|word| CString::new(word).unwrap()).collect();
    assert!(words.len() == 3, "usage: quantize MODEL SAMPLES.h5 OUTPUT");
    match quantize(&words) {
        Ok(summary) => println!("{}", summary),
        Err(text) => {
            eprintln!("{}", text);
            std::process::exit(1);
        }
    }
}
