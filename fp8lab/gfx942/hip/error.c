// Errors: the last one of each thread, their names and sentences.
#include <stdarg.h>

#include "hip.h"

static _Thread_local hipError_t last_error;

hipError_t fail(hipError_t e) {
    if (e) last_error = e;
    return e;
}
static _Thread_local char said[8192], handed_out[8192];
void say(const char* format, ...) {
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "fp8lab hip: %s\n", line);
    size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "%s%s", used ? "\n" : "", line);
}
// The sentences of this thread since the last time, for a caller who makes exceptions of them; "" if there are none.
API const char* fp8lab_hip_said(void) {
    memcpy(handed_out, said, sizeof said);
    said[0] = 0;
    return handed_out;
}
API hipError_t hipGetLastError(void) {
    hipError_t e = last_error;
    last_error = hipSuccess;
    return e;
}
API hipError_t hipExtGetLastError(void) { return hipGetLastError(); }
API hipError_t hipPeekAtLastError(void) { return last_error; }

static const struct {
    hipError_t error;
    const char *name, *text;
} errors[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {hipErrorInvalidSymbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {hipErrorNoDevice, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {hipErrorInvalidKernelFile, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorContextIsDestroyed, "hipErrorContextIsDestroyed", "context is destroyed"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {hipErrorCooperativeLaunchTooLarge, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {hipErrorStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {hipErrorStreamCaptureMerge, "hipErrorStreamCaptureMerge",
     "operation would result in a merge of separate captures"},
    {hipErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {hipErrorStreamCaptureUnjoined, "hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {hipErrorStreamCaptureImplicit, "hipErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {hipErrorCapturedEvent, "hipErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"}};
enum { ERRORS = sizeof errors / sizeof *errors };

API const char* hipGetErrorName(hipError_t e) {
    for (u32 i = 0; i < ERRORS; i++)
        if (errors[i].error == e) return errors[i].name;
    return "hipErrorUnknown";
}
API const char* hipGetErrorString(hipError_t e) {
    for (u32 i = 0; i < ERRORS; i++)
        if (errors[i].error == e) return errors[i].text;
    return "unknown error";
}
API hipError_t hipDrvGetErrorName(hipError_t e, const char** name) {
    *name = hipGetErrorName(e);
    return hipSuccess;
}
API hipError_t hipDrvGetErrorString(hipError_t e, const char** text) {
    *text = hipGetErrorString(e);
    return hipSuccess;
}
