// For a torch binding that is linked to the emulator's libamdhip64 instead of ROCm's: the operands are CPU tensors.
#pragma once
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

// What libamdhip64 said in this thread since the last time, "" if nothing: findings and faults of its kernels. error.c
extern "C" const char* fp8lab_hip_said(void);

namespace fp8lab {

// Bytes of the program that kernels may touch while this lives, to the byte; one such call at a time.
class Visible {
 public:
    typedef std::pair<const char*, const char*> Bytes;  // the first, and behind the last

    explicit Visible(std::vector<Bytes> wanted) : alone_(mutex()) {
        std::sort(wanted.begin(), wanted.end());
        for (const Bytes& bytes : wanted) {  // views of one tensor overlap, what is registered must not
            if (bytes.first == bytes.second) continue;
            if (!registered_.empty() && bytes.first <= registered_.back().second)
                registered_.back().second = std::max(registered_.back().second, bytes.second);
            else registered_.push_back(bytes);
        }
        for (const Bytes& bytes : registered_)
            (void)hipHostRegister(const_cast<char*>(bytes.first), bytes.second - bytes.first, 0);
    }
    ~Visible() {
        for (const Bytes& bytes : registered_) (void)hipHostUnregister(const_cast<char*>(bytes.first));
    }
    Visible(const Visible&) = delete;
    Visible& operator=(const Visible&) = delete;

 private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    std::lock_guard<std::mutex> alone_;
    std::vector<Bytes> registered_;
};

}  // namespace fp8lab
