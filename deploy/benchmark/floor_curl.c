// What the copy of one key costs at least: libcurl's multi interface under
// epoll. Nothing is signed, nothing of the answer is looked at; the header
// lines are as long as those of a renewal.
//
// Prints microseconds of CPU time per request.
//
// Usage: floor_curl PORT REQUESTS-AT-ONCE REQUESTS

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>

static CURLM *multi;
static struct curl_slist *lines;
static int epoll, port, started;
static long timeout = -1;
static unsigned watched[65536];

static int want(CURL *easy, curl_socket_t socket, int what, void *context, void *data)
{
    (void)easy, (void)context, (void)data;
    unsigned events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    // A kept connection stays watched, as the worker's do.
    if (what == CURL_POLL_REMOVE || events == watched[socket & 65535]) return 0;
    struct epoll_event event = {.events = events, .data.fd = socket};
    epoll_ctl(epoll, watched[socket & 65535] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
    watched[socket & 65535] = events;
    return 0;
}

static int set_timer(CURLM *handle, long milliseconds, void *context)
{
    (void)handle, (void)context;
    timeout = milliseconds;
    return 0;
}

static size_t drop(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes, (void)context;
    return size * count;
}

static void start(CURL *easy)
{
    char target[64];
    snprintf(target, sizeof target, "/photos/asset%08d.bin", started++);
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "PUT");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lines);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 5000L);
    curl_easy_setopt(easy, CURLOPT_REQUEST_TARGET, target);
    curl_multi_add_handle(multi, easy);
}

static CURL *handle(void)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 4096L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, drop);
    return easy;
}

int main(int count, char **words)
{
    static const char *const fields[] = {
        "Expect:", "Accept:", "Content-Type:", "host: 127.0.0.1:20000",
        "x-amz-copy-source-if-unmodified-since: Sat, 21 Nov 2026 00:00:00 GMT", "x-amz-metadata-directive: COPY",
        "x-amz-storage-class: STANDARD", "x-amz-date: 20261122T000000Z",
        "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "x-amz-copy-source: photos/asset00000000.bin",
        "authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20261122/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;x-amz-content-sha256;x-amz-copy-source;x-amz-copy-source-if-unmodified-since;x-amz-date;"
        "x-amz-metadata-directive;x-amz-storage-class, "
        "Signature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    };
    if (count != 4) return 2;
    port = atoi(words[1]);
    int at_once = atoi(words[2]), total = atoi(words[3]), done = 0, failed = 0, running;
    curl_global_init(CURL_GLOBAL_ALL);
    epoll = epoll_create1(0);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, want);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 1024L);
    for (size_t place = 0; place < sizeof fields / sizeof *fields; place++)
        lines = curl_slist_append(lines, fields[place]);
    while (started < at_once && started < total) start(handle());
    while (done < total) {
        if (timeout == 0) {
            timeout = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        } else {
            struct epoll_event events[256];
            int ready = epoll_wait(epoll, events, 256, (int)timeout);
            if (ready == 0) timeout = 0;
            for (int place = 0; place < ready; place++)
                curl_multi_socket_action(multi, events[place].data.fd,
                                         (events[place].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                                             (events[place].events & EPOLLOUT ? CURL_CSELECT_OUT : 0),
                                         &running);
        }
        int left;
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            CURL *easy = message->easy_handle;
            if (message->data.result != CURLE_OK) failed++;
            curl_multi_remove_handle(multi, easy);
            done++;
            if (started < total) start(easy);
        }
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%.2f\n", (used.ru_utime.tv_sec * 1e6 + used.ru_utime.tv_usec + used.ru_stime.tv_sec * 1e6 +
                      used.ru_stime.tv_usec) / total);
    return failed ? 1 : 0;
}
