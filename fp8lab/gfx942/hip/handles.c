// Handles that are alive. One that was destroyed, or never was, is an error for its user and not a crash.
#include "hip.h"

static struct {
    const void* handle;
    HandleKind kind;
}* alive;
static u64 count, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static u64 place(HandleKind kind, const void* handle) {  // count if it is not alive; the newest are asked for most
    for (u64 i = count; i-- > 0;)
        if (alive[i].handle == handle && alive[i].kind == kind) return i;
    return count;
}
void* handle_made(HandleKind kind, void* handle) {
    pthread_mutex_lock(&lock);
    if (count == room) {
        room = room ? 2 * room : 64;
        alive = realloc(alive, room * sizeof *alive);
    }
    alive[count].handle = handle, alive[count++].kind = kind;
    pthread_mutex_unlock(&lock);
    return handle;
}
int handle_lives(HandleKind kind, const void* handle) {
    pthread_mutex_lock(&lock);
    int lives = place(kind, handle) < count;
    pthread_mutex_unlock(&lock);
    return lives;
}
int handle_ended(HandleKind kind, const void* handle) {
    pthread_mutex_lock(&lock);
    u64 i = place(kind, handle);
    int lived = i < count;
    if (lived) alive[i] = alive[--count];
    pthread_mutex_unlock(&lock);
    return lived;
}
