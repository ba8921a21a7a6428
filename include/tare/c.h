#ifndef TARE_C_H
#define TARE_C_H

/* Tare for programs in C, and in every language that calls C: libtare.so exports what is
 * declared here and nothing else.
 *
 * Handles are opaque. What makes one takes a pointer to a pointer, which it sets only if it
 * succeeds; each kind has a function that frees it, which takes NULL. Texts that are made for
 * the caller are freed by tare_free(). Texts are UTF-8 and end in a 0 byte.
 *
 * Errors are values: what can fail returns NULL, or an error that the caller frees. Nothing is
 * written half, no input is changed, and no C++ exception comes out.
 *
 * Threads: functions may be called from any thread, and for different handles at the same time.
 * A handle that is only read (const) may be used by several threads at once; one that is
 * changed or freed by one thread must not be in use by another. Callbacks come from any thread
 * of the call that they were given to, while it lasts; where it says "one at a time" they do
 * not overlap. They must not throw, nor leave by longjmp, nor free a handle that the call uses.
 *
 * After a fork the child cannot use the library if the parent has: every call is an error
 * there. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a program that was compiled with this header must be compiled again. What only
 * grows keeps it: functions are added, and structures whose first member is `size` get more
 * members. */
#define TARE_C_VERSION 1
int32_t tare_c_version(void);   /* TARE_C_VERSION of the library */
const char* tare_version(void); /* of Tare, "0.1.0"; not to be freed */
/* What there is, as JSON: targets, calibrators, metrics, keys of the configuration, libraries.
 */
typedef struct tare_error tare_error;
tare_error* tare_describe(char** json);
void tare_free(char* text);

/* ---- Errors ---- */

enum {
  TARE_INVALID_MODEL = 1,  /* the model breaks a rule of its own format */
  TARE_UNSUPPORTED = 2,    /* a legal model that uses what is not implemented */
  TARE_INVALID_CONFIG = 3, /* an argument, a key or a value */
  TARE_INVALID_DATA = 4,   /* a sample: wrong name, shape, type, NaN */
  TARE_IO = 5,             /* a file that cannot be opened, read or written */
  TARE_INTERNAL = 6,       /* a bug in Tare */
  TARE_OUT_OF_MEMORY = 7,
  TARE_CANCELLED = 8, /* tare_job::progress asked for it */
  TARE_CALLBACK = 9   /* another callback failed */
};
int32_t tare_error_code(const tare_error*);
const char* tare_error_message(
    const tare_error*); /* as the program `tare` says it, all lines */
void tare_error_free(tare_error*);

/* ---- Arrays ---- */

enum {
  TARE_F32 = 0,
  TARE_F64 = 1,
  TARE_F16 = 2,
  TARE_I8 = 3,
  TARE_U8 = 4,
  TARE_I16 = 5,
  TARE_U16 = 6,
  TARE_I32 = 7,
  TARE_U32 = 8,
  TARE_I64 = 9,
  TARE_U64 = 10,
  TARE_BOOL = 11, /* one byte, 0 is false */
  TARE_BF16 = 12  /* bfloat16 */
};
typedef struct tare_array {
  const char* name; /* of an input or output */
  const void* data; /* of the element whose indices are all 0 */
  const int64_t* shape;
  const int64_t* strides; /* bytes from one element to the next, by axis; NULL: row-major */
  int32_t rank;
  int32_t dtype;
} tare_array;

/* ---- A piece of work ---- */

typedef struct tare_job {
  size_t size;     /* sizeof(tare_job) */
  size_t samples;  /* only the first ones; 0: all, or as configured */
  int32_t threads; /* 0: one per core; results do not depend on it */
  void* context;   /* for the callbacks */
  /* Samples done of those in all, one at a time; not 0 ends the work, TARE_CANCELLED, and is
   * the last call. May be NULL. */
  int (*progress)(void* context, const char* activity, size_t done, size_t total);
  /* What looks like a mistake, one at a time: a kind such as "dead_channels", where, and what.
   * May be NULL. */
  void (*warning)(void* context, const char* kind, const char* where, const char* what);
} tare_job;

/* ---- Models ---- */

typedef struct tare_model tare_model;
/* .tflite is TensorFlow Lite, .tir the textual form, every other name ONNX. Files are read when
 * they are used. */
tare_error* tare_model_open(const char* path, tare_model**);
/* An ONNX model in memory, which is copied to a temporary file. `name` is what errors call it.
 */
tare_error* tare_model_of_bytes(const void* bytes, size_t count, const char* name,
                                tare_model**);
/* As JSON: the names of its `inputs` in their order, and the `external_files` that hold
 * constants, relative to its folder. */
tare_error* tare_model_describe(const tare_model*, char** json);
void tare_model_free(tare_model*);

/* ---- Samples ---- */

typedef struct tare_samples tare_samples;
typedef struct tare_config tare_config;
/* Whatever the option --data of the program takes. The model that they are for and a
 * configuration say how to read what does not say it itself; both may be NULL for HDF5 files.
 * What is guessed is a warning of the job, of the kind "guessed_preparation". */
tare_error* tare_samples_open(const char* path, const tare_model*, const tare_config*,
                              const tare_job*, tare_samples**);
/* One array for each input, [samples, ...shape of one]; one called "labels" has an integer for
 * each sample. The elements are not copied: they have to outlive the samples, and must not
 * change. */
tare_error* tare_samples_of_arrays(const tare_array* arrays, size_t count, tare_samples**);
/* The same in pieces that follow each other, piece i of counts[i] arrays. Those of an input
 * have one type and rank, and may differ in the shape of a sample where the model leaves
 * extents open. */
tare_error* tare_samples_of_pieces(const tare_array* arrays, const size_t* counts,
                                   size_t pieces, tare_samples**);
/* Samples that can be had only once, in their order. They are kept in a temporary file, so
 * memory does not grow with them. */
typedef struct tare_stream {
  void* context;
  /* The next samples, as a piece of tare_samples_of_pieces(), which has to stay until the next
   * call. Returns 1; 0 at the end; below 0 if it failed. From one thread, the caller's. */
  int (*next)(void* context, const tare_array** arrays, size_t* count);
} tare_stream;
tare_error* tare_samples_of_stream(const tare_stream*, tare_samples**);
/* Samples that are made when they are needed, any number of times. */
typedef struct tare_source {
  void* context;
  size_t samples;
  /* For each input what one sample is: name, dtype and shape, without data. Copied. */
  const tare_array* inputs;
  size_t count;
  /* Writes samples [first, first + count) of that input, [count, ...shape] in row-major order.
   * Returns 0, or something else if it failed. From any thread, also at the same time. */
  int (*read)(void* context, size_t input, size_t first, size_t count, void* data);
} tare_source;
tare_error* tare_samples_of_source(const tare_source*, tare_samples**);
/* Parts of samples, which have to outlive them. */
enum {
  TARE_FIRST = 0,         /* the first `count` */
  TARE_EVENLY_SPACED = 1, /* `count` that are spread evenly */
  TARE_OTHERS = 2,        /* all but those */
  TARE_BEHIND = 3         /* all but the first `count` */
};
tare_error* tare_samples_part(const tare_samples*, int32_t which, size_t count, tare_samples**);
/* The same samples, as steps of sequences: where the configuration names states, they flow back
 * in that model. Those of tare_samples_open() have theirs, and samples that have some keep
 * them. The samples have to outlive what is made of them. */
tare_error* tare_samples_with_states(const tare_samples*, const tare_model*, const tare_config*,
                                     tare_samples**);
size_t tare_samples_count(const tare_samples*);
/* Writes one number for each sample. *count is set to 0 where there are no labels. */
tare_error* tare_samples_labels(const tare_samples*, int64_t* labels, size_t* count);
void tare_samples_free(tare_samples*);

/* ---- Configuration ---- */

/* The defaults. It is checked when it is used, with all that is wrong at once. */
tare_error* tare_config_new(tare_config**);
/* The keys of a YAML file, or of a text that would be in one; the last one counts. `plugins:`
 * is an error: shared objects need the program, and here there are callbacks. */
tare_error* tare_config_read(tare_config*, const char* path);
tare_error* tare_config_read_text(tare_config*, const char* yaml);
/* One key on top of them, such as "activations.calibrator=percentile". */
tare_error* tare_config_set(tare_config*, const char* setting);
/* Error where it would be one in use. */
tare_error* tare_config_check(const tare_config*);
void tare_config_free(tare_config*);

/* What was observed of a tensor, or of a channel of weights. */
typedef struct tare_histogram {
  double low;      /* the smallest finite value; 0 when there was none */
  double high;     /* the largest */
  double mean_low; /* means over the samples of the smallest and the largest value of each */
  double mean_high;
  uint64_t count; /* finite values */
  uint64_t zeros; /* of these */
  uint64_t samples;
  /* bins[i] counts the values v, other than 0, with
   * bin_width * (i - bin_count / 2) <= v < bin_width * (i + 1 - bin_count / 2). */
  const uint64_t* bins;
  size_t bin_count; /* 0: there are no values but 0 */
  double bin_width;
} tare_histogram;
/* How it is to be stored, and what it is. */
typedef struct tare_spec {
  const char* point;  /* name of the value; "" where reports ask what would be chosen */
  const char* op;     /* of the operator that computes it or multiplies by it; "" of an input */
  const char* target; /* "ort-cpu" */
  int64_t storage_low; /* what the storage type spans: 0 and 255 */
  int64_t storage_high;
  int32_t storage; /* TARE_U8 and the like */
  int32_t is_weight;
  int32_t symmetric;
  int32_t power_of_two;
} tare_spec;
typedef struct tare_calibrator {
  const char* name;
  void* context;
  /* The range of real values that the storage type is to span; finite, and low <= high. Returns
   * 0, or something else if it failed. From any thread, also at the same time. */
  int (*choose)(void* context, const tare_histogram*, const tare_spec*, double* low,
                double* high);
} tare_calibrator;
/* Calibrators and metrics go by their names; `context` has to outlive the configuration and all
 * that is made with it. */
tare_error* tare_config_add_calibrator(tare_config*, const tare_calibrator*);
typedef struct tare_metric {
  const char* name;
  void* context;
  /* A number for one sample, of which reports have the mean, from the results of both networks;
   * `label` is NULL where there is none. Returns 1; 0 where it is not defined; below 0 if it
   * failed. From any thread, also at the same time. */
  int (*of_sample)(void* context, const tare_array* real, const tare_array* quantized,
                   size_t outputs, const int64_t* label, double* value);
} tare_metric;
tare_error* tare_config_add_metric(tare_config*, const tare_metric*);

/* ---- Statistics ---- */

typedef struct tare_statistics tare_statistics;
/* Of all values that may be quantized. `checkpoint` (may be NULL): a file from which the same
 * call goes on if this one ends early. */
tare_error* tare_statistics_collect(const tare_model*, const tare_samples*, const tare_config*,
                                    const char* checkpoint, const tare_job*, tare_statistics**);
tare_error* tare_statistics_read(const char* path, tare_statistics**);
tare_error* tare_statistics_write(const tare_statistics*, const char* path); /* HDF5 */
tare_error* tare_statistics_merge(const tare_statistics* from, tare_statistics* into);
uint64_t tare_statistics_samples(const tare_statistics*);
void tare_statistics_free(tare_statistics*);

/* ---- Quantizing ---- */

typedef struct tare_quantized tare_quantized;
/* NULL for the configuration means the defaults; for the job, no callbacks. Samples may be NULL
 * where the configuration leaves nothing that needs them. */
tare_error* tare_quantize(const tare_model*, const tare_samples*, const tare_config*,
                          const tare_job*, tare_quantized**);
tare_error* tare_quantize_statistics(const tare_model*, const tare_statistics*,
                                     const tare_config*, const tare_job*, tare_quantized**);
/* With the parameters of a table that was written before. */
tare_error* tare_quantize_table(const tare_model*, const char* table, const tare_config*,
                                const tare_job*, tare_quantized**);
/* `form`: "qdq", "qoperator" or "integer"; NULL is the first. */
tare_error* tare_quantized_write(const tare_quantized*, const char* path, const char* form);
tare_error* tare_quantized_write_table(const tare_quantized*, const char* path); /* YAML */
/* What was quantized and what was not, as JSON: see docs/c.md. */
tare_error* tare_quantized_summary(const tare_quantized*, char** json);
/* What was decided for each point, by its name, as JSON. */
tare_error* tare_quantized_table(const tare_quantized*, char** json);
void tare_quantized_free(tare_quantized*);

/* ---- Reports ---- */

typedef struct tare_report tare_report;
enum {
  TARE_GIVEN = 0,       /* whether samples were calibrated on is not known */
  TARE_CALIBRATION = 1, /* they were */
  TARE_HELD_OUT = 2     /* others of the same origin */
};
/* How far the network is from the float one, on samples of the kind `evaluated_on`. `brief`
 * leaves out points, metrics and accumulators, and takes few of the samples where the job says
 * nothing of these: for what is to take little of the time that quantizing does. */
tare_error* tare_quantized_compare(const tare_quantized*, const tare_samples*,
                                   int32_t evaluated_on, int32_t brief, const tare_job*,
                                   tare_report**);
/* The same of two files. `numerics`: the engine whose arithmetic the quantized one runs with,
 * "onnxruntime" and the like; "configured": as its file says; NULL: ONNX Runtime's. */
tare_error* tare_compare(const tare_model* real, const tare_model* quantized,
                         const tare_samples*, const tare_config*, const char* numerics,
                         const tare_job*, tare_report**);
tare_error* tare_report_json(const tare_report*,
                             char** json); /* docs/report.md has the schema */
tare_error* tare_report_write(const tare_report*, const char* path); /* .html, .json or .csv */
/* A copy of the quantized ONNX model that the report is about, whose nodes say what it says of
 * their layers, as metadata_props: see docs/metadata.md. */
tare_error* tare_report_annotate(const tare_report*, const tare_model* quantized,
                                 const char* path);
void tare_report_free(tare_report*);

/* ---- Running and looking ---- */

/* Runs a float or quantized model on all samples and gives the results in their order, one run
 * at a time; what is not 0 ends the work. The arrays are gone after the call. Outputs that
 * cannot be computed are not among them, see docs/tail.md. */
typedef int (*tare_take)(void* context, size_t run, const tare_array* outputs, size_t count);
tare_error* tare_run(const tare_model*, const tare_samples*, const tare_config*,
                     const char* numerics, const tare_job*, tare_take, void* context);
/* What each operator runs as on the target, or why it stays in float, as JSON. Samples may be
 * NULL. */
tare_error* tare_explain(const tare_model*, const tare_samples*, const tare_config*,
                         char** json);
/* The model as text after a stage: float, prepared, simulated, affine, expanded, integer,
 * exported. `full`: with all constants. Samples may be NULL where the stage needs none. */
tare_error* tare_inspect(const tare_model*, const tare_samples*, const tare_config*,
                         const char* stage, int32_t full, const tare_job*, char** text);

/* ---- Search ---- */

typedef struct tare_search_options {
  size_t size;                   /* sizeof(tare_search_options) */
  const char* const* conditions; /* such as "output.sqnr>=30" */
  size_t condition_count;
  double least_integers;      /* share of the multiplications that stays on integers */
  double seconds;             /* from then on no other plan is tried; 0: no limit */
  int64_t holdout;            /* samples at the end that are evaluated on; below 0: a third */
  const char* checkpoint;     /* from which the same call goes on; may be NULL */
  const char* const* budgets; /* such as "size=0.5MB" or "bops=50%", see read_budget() */
  size_t budget_count;
} tare_search_options;
/* The fastest mixed-precision network that meets the conditions, or with budgets the one whose
 * widths of weights lose least within them; the JSON says which plans there were, whether the
 * chosen one meets the conditions, and with budgets the mix of widths. Budgets go with neither
 * least_integers nor seconds. */
tare_error* tare_search(const tare_model*, const tare_samples*, const tare_config*,
                        const tare_search_options*, const tare_job*, tare_quantized**,
                        char** json);

#ifdef __cplusplus
}
#endif
#endif
