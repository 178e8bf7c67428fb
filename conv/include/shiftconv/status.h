/* Version, status, the last error, logging. Part of shiftconv.h, whose rules hold here. */
#ifndef SHIFTCONV_STATUS_H
#define SHIFTCONV_STATUS_H

#include <stddef.h>
#include <stdint.h>

#define SHIFTCONV_VERSION_MAJOR 0
#define SHIFTCONV_VERSION_MINOR 3
#define SHIFTCONV_VERSION_PATCH 0
/** The version as one number, which grows with every release: major * 10000 + minor * 100 + patch. */
#define SHIFTCONV_VERSION (SHIFTCONV_VERSION_MAJOR * 10000 + SHIFTCONV_VERSION_MINOR * 100 + SHIFTCONV_VERSION_PATCH)

#if defined(__GNUC__)
#define SHIFTCONV_API __attribute__((visibility("default")))
#else
#define SHIFTCONV_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** SHIFTCONV_VERSION of the loaded library. Its ABI is that of this header when the major versions are equal; while the major
 *  version is 0, when the minor versions are equal, too. */
SHIFTCONV_API int shiftconv_version(void);

/** Version of the loaded library as text, "0.3.0". */
SHIFTCONV_API const char* shiftconv_version_string(void);

typedef enum shiftconv_status {
  SHIFTCONV_STATUS_SUCCESS = 0,
  SHIFTCONV_STATUS_INVALID_ARGUMENT = 1,  /**< a value is wrong in itself: null, out of range, misaligned, contradictory */
  SHIFTCONV_STATUS_UNSUPPORTED = 2,       /**< legal, but this algorithm or device cannot do it */
  SHIFTCONV_STATUS_OUT_OF_MEMORY = 3,     /**< host or device memory */
  SHIFTCONV_STATUS_DEVICE_ERROR = 4,      /**< the CUDA driver or the emulator refused or stopped something; its text is quoted */
  SHIFTCONV_STATUS_NOT_FOUND = 5,         /**< no such device, algorithm, option or preset */
  SHIFTCONV_STATUS_INTERNAL_ERROR = 6,    /**< a defect of the library */
  SHIFTCONV_STATUS_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_status_t;

/** Name of a status, "SHIFTCONV_STATUS_UNSUPPORTED"; for a value outside the enumeration, "unknown status". Never NULL. */
SHIFTCONV_API const char* shiftconv_status_string(shiftconv_status_t status);

/** The sentence that explains the last failure on the calling host thread; "" when no call of this thread has failed. It stays
 *  valid until the next failing call on the same thread. Successful calls do not change it. */
SHIFTCONV_API const char* shiftconv_last_error(void);

/* ------------------------------------------------------------------------------------------------------- logging */

typedef enum shiftconv_log_level {
  SHIFTCONV_LOG_OFF = 0,
  SHIFTCONV_LOG_ERROR = 1,
  SHIFTCONV_LOG_WARNING = 2, /**< the initial level: for example "autotune: no cache is used: /dev/null is a device, ..." */
  SHIFTCONV_LOG_INFO = 3,
  SHIFTCONV_LOG_DEBUG = 4,
  SHIFTCONV_LOG_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_log_level_t;

/** Receives one message, without a line end. The library may call it from any host thread that uses the library, but never from
 *  two at once. It must not call shiftconv_set_log. */
typedef void (*shiftconv_log_callback_t)(shiftconv_log_level_t level, const char* message, void* user);

/** Sends messages of `level` and more severe ones to `callback`, which receives `user` unchanged. A NULL callback prints lines on
 *  stderr, as the library does initially. The environment variable SHIFTCONV_LOG (off, error, warning, info, debug) sets the
 *  initial level; any other value is ignored with a warning. */
SHIFTCONV_API shiftconv_status_t shiftconv_set_log(shiftconv_log_callback_t callback, void* user, shiftconv_log_level_t level);

#ifdef __cplusplus
}
#endif

#endif /* SHIFTCONV_STATUS_H */
