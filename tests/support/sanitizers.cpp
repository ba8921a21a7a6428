// HDF5 1.10 itself reads a little beyond its buffers in some damaged files, and asks for memory
// that it does not get. The address sanitizer shall look for such things in our code.
extern "C" const char* __asan_default_suppressions() {
  return "interceptor_via_lib:libhdf5";
}
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libhdf5";
}
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
