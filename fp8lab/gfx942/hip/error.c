// Errors: the last one of each thread, their names and sentences, and calls that are here only to say that they are
// not.
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

// Calls that the emulator does not have: textures, arrays, other devices and processes, graphs built by hand, linking.
// A program that names one links and runs; the call returns hipErrorNotSupported and says so once a call.
#define NOT_SUPPORTED(name)                                                          \
    API hipError_t name(void) {                                                      \
        say(#name " is not in the emulator's HIP; it returns hipErrorNotSupported"); \
        return fail(hipErrorNotSupported);                                           \
    }
NOT_SUPPORTED(hipGetDeviceProperties)  // the layout before HIP 6; today's headers call hipGetDevicePropertiesR0600
NOT_SUPPORTED(hipCtxCreate)
NOT_SUPPORTED(hipDevicePrimaryCtxRetain)
NOT_SUPPORTED(hipDeviceEnablePeerAccess)
NOT_SUPPORTED(hipDeviceDisablePeerAccess)
NOT_SUPPORTED(hipMemcpyPeer)
NOT_SUPPORTED(hipMemcpyPeerAsync)
NOT_SUPPORTED(hipIpcGetMemHandle)
NOT_SUPPORTED(hipIpcOpenMemHandle)
NOT_SUPPORTED(hipIpcCloseMemHandle)
NOT_SUPPORTED(hipIpcGetEventHandle)
NOT_SUPPORTED(hipIpcOpenEventHandle)
NOT_SUPPORTED(hipImportExternalMemory)
NOT_SUPPORTED(hipImportExternalSemaphore)
NOT_SUPPORTED(hipMemAddressReserve)
NOT_SUPPORTED(hipMemAddressFree)
NOT_SUPPORTED(hipMemCreate)
NOT_SUPPORTED(hipMemRelease)
NOT_SUPPORTED(hipMemMap)
NOT_SUPPORTED(hipMemUnmap)
NOT_SUPPORTED(hipMemSetAccess)
NOT_SUPPORTED(hipMemGetAllocationGranularity)
NOT_SUPPORTED(hipMemPoolCreate)
NOT_SUPPORTED(hipMemPoolDestroy)
NOT_SUPPORTED(hipMemPoolSetAttribute)
NOT_SUPPORTED(hipMemPoolGetAttribute)
NOT_SUPPORTED(hipMallocFromPoolAsync)
NOT_SUPPORTED(hipDeviceGetDefaultMemPool)
NOT_SUPPORTED(hipDeviceGetMemPool)
NOT_SUPPORTED(hipDeviceSetMemPool)
NOT_SUPPORTED(hipMalloc3D)
NOT_SUPPORTED(hipMalloc3DArray)
NOT_SUPPORTED(hipMallocArray)
NOT_SUPPORTED(hipFreeArray)
NOT_SUPPORTED(hipMemcpy3D)
NOT_SUPPORTED(hipMemcpy3DAsync)
NOT_SUPPORTED(hipMemcpyToArray)
NOT_SUPPORTED(hipMemcpyFromArray)
NOT_SUPPORTED(hipMemcpy2DToArray)
NOT_SUPPORTED(hipMemcpy2DFromArray)
NOT_SUPPORTED(hipMemset3D)
NOT_SUPPORTED(hipCreateTextureObject)
NOT_SUPPORTED(hipDestroyTextureObject)
NOT_SUPPORTED(hipCreateSurfaceObject)
NOT_SUPPORTED(hipDestroySurfaceObject)
NOT_SUPPORTED(hipBindTexture)
NOT_SUPPORTED(hipModuleGetTexRef)
NOT_SUPPORTED(hipLinkCreate)
NOT_SUPPORTED(hipLinkAddData)
NOT_SUPPORTED(hipLinkComplete)
NOT_SUPPORTED(hipLaunchCooperativeKernelMultiDevice)
NOT_SUPPORTED(hipExtLaunchKernel)
NOT_SUPPORTED(hipExtModuleLaunchKernel)
NOT_SUPPORTED(hipExtStreamCreateWithCUMask)
NOT_SUPPORTED(hipStreamWaitValue32)
NOT_SUPPORTED(hipStreamWaitValue64)
NOT_SUPPORTED(hipStreamWriteValue32)
NOT_SUPPORTED(hipStreamWriteValue64)
NOT_SUPPORTED(hipStreamUpdateCaptureDependencies)
NOT_SUPPORTED(hipGraphCreate)
NOT_SUPPORTED(hipGraphClone)
NOT_SUPPORTED(hipGraphAddKernelNode)
NOT_SUPPORTED(hipGraphAddMemcpyNode)
NOT_SUPPORTED(hipGraphAddMemcpyNode1D)
NOT_SUPPORTED(hipGraphAddMemsetNode)
NOT_SUPPORTED(hipGraphAddHostNode)
NOT_SUPPORTED(hipGraphAddEmptyNode)
NOT_SUPPORTED(hipGraphAddChildGraphNode)
NOT_SUPPORTED(hipGraphAddDependencies)
NOT_SUPPORTED(hipGraphGetEdges)
NOT_SUPPORTED(hipGraphGetRootNodes)
NOT_SUPPORTED(hipGraphKernelNodeGetParams)
NOT_SUPPORTED(hipGraphKernelNodeSetParams)
NOT_SUPPORTED(hipGraphExecKernelNodeSetParams)
NOT_SUPPORTED(hipGraphExecUpdate)
NOT_SUPPORTED(hipGraphDebugDotPrint)
NOT_SUPPORTED(hipUserObjectCreate)
