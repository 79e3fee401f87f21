#pragma once
#include <stddef.h>
#include <hiredis/hiredis.h>

#if HIREDIS_MAJOR >= 1
static void *cloakroom_no_double(const redisReadTask *task, double value, char *text, size_t count) {
    (void)task, (void)value, (void)text, (void)count;
    return NULL;
}

static void *cloakroom_no_boolean(const redisReadTask *task, int value) {
    (void)task, (void)value;
    return NULL;
}
#endif

// Types of RESP3, which no reply to our commands has: reading ends with an error, as for a lack of memory. Without
// functions hiredis 1.x reads them and says nothing, and an array would lack an element.
static inline void cloakroom_refuse_resp3(redisReplyObjectFunctions *functions) {
#if HIREDIS_MAJOR >= 1
    functions->createDouble = cloakroom_no_double;
    functions->createBool = cloakroom_no_boolean;
#else
    (void)functions;
#endif
}
