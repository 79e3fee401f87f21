// Signs tokens with RS256: JWS Compact Serialization, RFC 7515 section 7.1.
//
// Usage: sign_tokens PUBLIC-KEY-FILE < UNSIGNED > TOKENS
//
// Makes one RSA key of 2048 bits, which never leaves the process, and writes its
// public half to PUBLIC-KEY-FILE as PEM. Each line of input is a token without
// its signature (header.payload); the same line, signed, is written. Counts on
// standard error. Exit status: 0 signed, 1 not, 2 wrong usage.

#define _GNU_SOURCE
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

enum { key_bits = 2048, signature_size = key_bits / 8, lines_between_counts = 5000 };

static void fail(const char *step) {
    fprintf(stderr, "sign_tokens: cannot %s\n", step);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static void write_public_key(EVP_PKEY *key, const char *path) {
    FILE *file = fopen(path, "w");
    if (file == NULL || PEM_write_PUBKEY(file, key) != 1 || fclose(file) != 0) {
        fail("write the public key");
    }
}

// Base64 with the alphabet of URLs, without padding: RFC 4648 section 5.
static void write_base64url(const unsigned char *bytes, size_t length) {
    unsigned char text[(signature_size + 2) / 3 * 4 + 1];
    EVP_EncodeBlock(text, bytes, (int)length);
    for (unsigned char *at = text; *at != '\0' && *at != '='; at++) {
        putchar(*at == '+' ? '-' : *at == '/' ? '_' : *at);
    }
}

static void sign(EVP_MD_CTX *context, EVP_PKEY *key, const char *text, size_t length) {
    unsigned char signature[signature_size];
    size_t size = sizeof signature;
    if (EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
        EVP_DigestSign(context, signature, &size, (const unsigned char *)text, length) != 1) {
        fail("sign");
    }
    fwrite(text, 1, length, stdout);
    putchar('.');
    write_base64url(signature, size);
    putchar('\n');
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: sign_tokens PUBLIC-KEY-FILE < UNSIGNED > TOKENS\n");
        return 2;
    }
    EVP_PKEY *key = EVP_RSA_gen(key_bits);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (key == NULL || context == NULL) {
        fail("make a key");
    }
    write_public_key(key, arguments[1]);
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    long signed_lines = 0;
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        if (line[length - 1] == '\n') {
            length--;
        }
        sign(context, key, line, (size_t)length);
        if (++signed_lines % lines_between_counts == 0) {
            fprintf(stderr, "  %ld signed\n", signed_lines);
        }
    }
    if (ferror(stdin) || fflush(stdout) != 0) {
        fail("read or write all tokens");
    }
    free(line);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return 0;
}
