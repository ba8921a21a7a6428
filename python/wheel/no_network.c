/* Takes the place of libcurl and libcrypto in the wheel: Debian's HDF5 library needs them for files on
 * Amazon's servers, which Tare never opens. Every function fails, as where there is no network. */
#include <stddef.h>

/* libcurl: no handle can be had, so the driver gives up. */
int curl_global_init(long flags);
void curl_global_cleanup(void);
void* curl_easy_init(void);
void curl_easy_cleanup(void* handle);
int curl_easy_perform(void* handle);
int curl_easy_setopt(void* handle, int option, ...);
void* curl_slist_append(void* list, const char* text);
void curl_slist_free_all(void* list);
/* libcrypto: no digest. */
const void* EVP_sha256(void);
unsigned char* HMAC(const void* method, const void* key, int key_length, const unsigned char* data,
                    size_t count, unsigned char* digest, unsigned int* length);
unsigned char* SHA256(const unsigned char* data, size_t count, unsigned char* digest);

enum { kFailed = 2 }; /* CURLE_FAILED_INIT */

int curl_global_init(long flags) {
  (void)flags;
  return kFailed;
}
void curl_global_cleanup(void) {}
void* curl_easy_init(void) {
  return NULL;
}
void curl_easy_cleanup(void* handle) {
  (void)handle;
}
int curl_easy_perform(void* handle) {
  (void)handle;
  return kFailed;
}
int curl_easy_setopt(void* handle, int option, ...) {
  (void)handle;
  (void)option;
  return kFailed;
}
void* curl_slist_append(void* list, const char* text) {
  (void)list;
  (void)text;
  return NULL;
}
void curl_slist_free_all(void* list) {
  (void)list;
}
const void* EVP_sha256(void) {
  return NULL;
}
unsigned char* HMAC(const void* method, const void* key, int key_length, const unsigned char* data,
                    size_t count, unsigned char* digest, unsigned int* length) {
  (void)method, (void)key, (void)key_length, (void)data, (void)count, (void)digest, (void)length;
  return NULL;
}
unsigned char* SHA256(const unsigned char* data, size_t count, unsigned char* digest) {
  (void)data, (void)count, (void)digest;
  return NULL;
}
