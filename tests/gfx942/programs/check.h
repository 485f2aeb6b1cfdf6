// What the programs share: a line for each thing that was asked, for the test to compare.
#pragma once
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANE ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP ((int)__builtin_amdgcn_workgroup_id_x())

static void tell(const char* what, hipError_t error) {
    printf("%s: %s\n", what, hipGetErrorName(error));
}
static void need(hipError_t error, int line) {
    if (error == hipSuccess) return;
    printf("line %d: %s\n", line, hipGetErrorString(error));
    exit(1);
}
#define NEED(call) need(call, __LINE__)
