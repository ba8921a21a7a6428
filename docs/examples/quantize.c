/* Quantizes a network by the C interface: quantize MODEL SAMPLES.h5 OUTPUT
 *   cc -std=c11 quantize.c -ltare -o quantize */
#include <tare/c.h>

#include <stdio.h>

static int show(void* context, const char* activity, size_t done, size_t total) {
  (void)context;
  fprintf(stderr, "\r%s %zu of %zu", activity, done, total);
  return 0; /* anything else would end the work */
}

static void warn(void* context, const char* kind, const char* where, const char* what) {
  (void)context;
  fprintf(stderr, "\n%s: %s: %s\n", kind, where, what);
}

/* A calibrator of our own: half of what was observed. */
static int half(void* context, const tare_histogram* seen, const tare_spec* spec, double* low,
                double* high) {
  (void)context;
  (void)spec;
  *low = seen->low / 2;
  *high = seen->high / 2;
  return 0;
}

static tare_error* quantize(const char** words) {
  tare_model* model = NULL;
  tare_samples* samples = NULL;
  tare_config* config = NULL;
  tare_quantized* result = NULL;
  char* summary = NULL;
  const tare_calibrator own = {.name = "half", .choose = half};
  const tare_job job = {.size = sizeof(job), .progress = show, .warning = warn};
  tare_error* error = tare_model_open(words[0], &model);
  if (!error) error = tare_config_new(&config);
  if (!error) error = tare_samples_open(words[1], model, config, &job, &samples);
  if (!error) error = tare_config_add_calibrator(config, &own);
  if (!error) error = tare_config_set(config, "activations.calibrator=half");
  if (!error) error = tare_quantize(model, samples, config, &job, &result);
  if (!error) error = tare_quantized_write(result, words[2], "qdq");
  if (!error) error = tare_quantized_summary(result, &summary);
  if (!error) puts(summary);
  tare_free(summary);
  tare_quantized_free(result);
  tare_config_free(config);
  tare_samples_free(samples);
  tare_model_free(model);
  return error;
}

int main(int count, const char** words) {
  tare_error* error = count == 4 ? quantize(words + 1) : NULL;
  if (error) fprintf(stderr, "\n%s\n", tare_error_message(error));
  const int status = error ? tare_error_code(error) : count == 4 ? 0 : 2;
  tare_error_free(error);
  return status;
}
