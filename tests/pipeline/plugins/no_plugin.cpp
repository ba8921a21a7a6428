// A shared object without an entry point.
extern "C" int tare_of_nothing() {
  return 0;
}
