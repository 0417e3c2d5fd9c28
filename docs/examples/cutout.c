/* Cuts people out of a picture with MediaPipe's selfie segmentation: what is not a person becomes gray. The model is in
   the program (selfie.o and selfie_pool.o, of tensorc), which needs libc alone.

       cutout picture.ppm cut.ppm

   docs/tflite-on-a-pi.md says where the model is from and builds this for a board. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selfie.h"

enum { kSide = 256 /* the model's picture is a square of so many pixels */, kMostSide = 8192, kGray = 160 };

/* The next number of a PPM's head, behind blanks and comments; -1: there is none. */
static int read_number(FILE* f) {
  int c, n = 0;
  while ((c = fgetc(f)) == '#' || c == ' ' || c == '\t' || c == '\r' || c == '\n')
    if (c == '#')
      while (c != '\n' && c != EOF) c = fgetc(f);
  if (c < '0' || c > '9') return -1;
  for (; c >= '0' && c <= '9' && n < 1000000; c = fgetc(f)) n = 10 * n + (c - '0');
  return n; /* the character behind the number is read, too: before the pixels there is one */
}

/* RGB, row by row, which the caller frees; null where the file is no P6 with a byte a colour. */
static unsigned char* read_ppm(const char* path, int* width, int* height) {
  unsigned char* pixels = NULL;
  FILE* f = fopen(path, "rb");
  if (!f) return NULL;
  if (fgetc(f) == 'P' && fgetc(f) == '6') {
    *width = read_number(f), *height = read_number(f);
    if (*width > 0 && *height > 0 && *width <= kMostSide && *height <= kMostSide && read_number(f) == 255) {
      const size_t bytes = (size_t)*width * (size_t)*height * 3;
      pixels = (unsigned char*)malloc(bytes);
      if (pixels && fread(pixels, 1, bytes, f) != bytes) free(pixels), pixels = NULL;
    }
  }
  fclose(f);
  return pixels;
}

static DLTensor tensor(void* data, uint8_t code, uint8_t bits, int64_t* shape) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = 4;
  t.dtype.code = code;
  t.dtype.bits = bits;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

int main(int argc, char** argv) {
  static unsigned char small[kSide * kSide * 3];
  static float person[kSide * kSide]; /* how sure the model is of a person, 0 to 1, for each of its pixels */
  int64_t picture_shape[] = {1, kSide, kSide, 3}, person_shape[] = {1, kSide, kSide, 1};
  int width, height, x, y, c;
  if (argc != 3) return fprintf(stderr, "usage: %s picture.ppm cut.ppm\n", argv[0]), 2;
  unsigned char* pixels = read_ppm(argv[1], &width, &height);
  if (!pixels) return fprintf(stderr, "%s: not a PPM of at most %d x %d pixels\n", argv[1], kMostSide, kMostSide), 1;

  /* The model's picture: of each of its pixels the one that lies in its middle. */
  for (y = 0; y < kSide; ++y)
    for (x = 0; x < kSide; ++x) {
      const size_t at =
          (size_t)((2 * y + 1) * height / (2 * kSide)) * (size_t)width + (size_t)((2 * x + 1) * width / (2 * kSide));
      memcpy(small + (y * kSide + x) * 3, pixels + at * 3, 3);
    }

  void* workspace = aligned_alloc(64, (SELFIE_ARENA_BYTES / 64 + 1) * 64);
  HoneRuntime* pool = selfie_pool(0); /* as many threads as CPUs */
  if (!workspace || !pool) return perror("no memory or no threads"), 1;
  const DLTensor in = tensor(small, kDLUInt, 8, picture_shape), out = tensor(person, kDLFloat, 32, person_shape);
  const DLTensor* tensors[] = {&in, &out};
  const int32_t code = selfie_run(tensors, 2, workspace, pool);
  if (code != HONE_OK) return fprintf(stderr, "%s\n", selfie_error(code)), 1;
  selfie_pool_free(pool);
  free(workspace);

  long people = 0;
  for (y = 0; y < height; ++y)
    for (x = 0; x < width; ++x) {
      const float sure = person[(y * kSide / height) * kSide + x * kSide / width];
      unsigned char* pixel = pixels + ((size_t)y * (size_t)width + (size_t)x) * 3;
      people += sure > 0.5f;
      for (c = 0; c < 3; ++c) pixel[c] = (unsigned char)(kGray + sure * (float)(pixel[c] - kGray) + 0.5f);
    }
  FILE* f = fopen(argv[2], "wb");
  if (!f) return perror(argv[2]), 1;
  fprintf(f, "P6\n%d %d\n255\n", width, height);
  const int all = fwrite(pixels, 3, (size_t)width * (size_t)height, f) == (size_t)width * (size_t)height;
  free(pixels);
  if (fclose(f) != 0 || !all) return perror(argv[2]), 1;
  printf("%ld of 100 pixels are people's\n", people * 100 / ((long)width * height));
  return 0;
}
