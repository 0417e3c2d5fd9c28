/* Finds the faces of a picture with BlazeFace and draws a box around each: libhone_runtime (hone.h).

       tensorc blazeface.onnx --input input:0=u8,mean=127.5,scale=1/127.5 -o blazeface.so
       faces blazeface.so picture.ppm found.ppm

   docs/picture.md has the same in Python, and says where the model is from. */
#include <hone.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kSide = 128,       /* the model's picture is a square of so many pixels */
  kFine = 512,       /* anchors of the first outputs: two for each of 16 x 16 cells */
  kAnchors = 896,    /* those and six for each of 8 x 8 cells */
  kNumbers = 16,     /* of each anchor: middle and size of the box, then six points of the face */
  kMostPixels = 1000 /* a picture may be so many times as large as the model's, each way */
};
static const float kLeastScore = 0.5f, kMostOverlap = 0.3f;

/* RGB, row by row. */
typedef struct {
  int width, height;
  unsigned char* pixels;
} Picture;

/* In pixels of the picture. */
typedef struct {
  float x0, y0, x1, y1, score;
} Face;

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

/* Whether the file is a picture, P6 with a byte a colour. Its pixels are the caller's to free. */
static int read_ppm(const char* path, Picture* picture) {
  const int most = kSide * kMostPixels;
  size_t bytes = 0;
  FILE* f = fopen(path, "rb");
  picture->pixels = NULL;
  if (!f) return 0;
  if (fgetc(f) == 'P' && fgetc(f) == '6') {
    picture->width = read_number(f);
    picture->height = read_number(f);
    if (picture->width > 0 && picture->height > 0 && picture->width <= most && picture->height <= most &&
        read_number(f) == 255)
      bytes = (size_t)picture->width * (size_t)picture->height * 3;
  }
  if (bytes > 0) picture->pixels = (unsigned char*)malloc(bytes);
  if (picture->pixels && fread(picture->pixels, 1, bytes, f) != bytes) {
    free(picture->pixels);
    picture->pixels = NULL;
  }
  fclose(f);
  return picture->pixels != NULL;
}

static int write_ppm(const char* path, const Picture* picture) {
  const size_t bytes = (size_t)picture->width * (size_t)picture->height * 3;
  FILE* f = fopen(path, "wb");
  if (!f) return 0;
  fprintf(f, "P6\n%d %d\n255\n", picture->width, picture->height);
  const int all = fwrite(picture->pixels, 1, bytes, f) == bytes;
  return fclose(f) == 0 && all;
}

/* A square of `times` x `times` pixels becomes one of the model's, their mean; black is what the picture has not. */
static void shrink(const Picture* picture, int times, unsigned char* small) {
  int x, y, c, i, j;
  for (y = 0; y < kSide; ++y)
    for (x = 0; x < kSide; ++x)
      for (c = 0; c < 3; ++c) {
        long long sum = 0;
        for (i = y * times; i < (y + 1) * times && i < picture->height; ++i)
          for (j = x * times; j < (x + 1) * times && j < picture->width; ++j)
            sum += picture->pixels[((size_t)i * (size_t)picture->width + (size_t)j) * 3 + (size_t)c];
        small[(y * kSide + x) * 3 + c] = (unsigned char)(sum / ((long long)times * times));
      }
}

static float area(const Face* f) { return (f->x1 - f->x0) * (f->y1 - f->y0); }

/* The area that two boxes share, as a part of what they cover together. */
static float overlap(const Face* a, const Face* b) {
  const float width = fminf(a->x1, b->x1) - fmaxf(a->x0, b->x0);
  const float height = fminf(a->y1, b->y1) - fmaxf(a->y0, b->y0);
  if (width <= 0 || height <= 0) return 0;
  return width * height / (area(a) + area(b) - width * height);
}

/* The model's answer at an anchor: distances are from the middle of its cell, in pixels of the model's picture. */
static Face face_of(int anchor, float score, const float* numbers, int times) {
  const int is_fine = anchor < kFine, cells = is_fine ? 16 : 8;
  const int cell = is_fine ? anchor / 2 : (anchor - kFine) / 6;
  const float pixels = (float)(kSide / cells), scale = (float)times;
  const float x = ((float)(cell % cells) + 0.5f) * pixels + numbers[0];
  const float y = ((float)(cell / cells) + 0.5f) * pixels + numbers[1];
  Face f;
  f.x0 = (x - numbers[2] / 2) * scale;
  f.y0 = (y - numbers[3] / 2) * scale;
  f.x1 = (x + numbers[2] / 2) * scale;
  f.y1 = (y + numbers[3] / 2) * scale;
  f.score = 1 / (1 + expf(-fminf(fmaxf(score, -80), 80)));
  return f;
}

/* Takes the best box, leaves out all that lie on it, and goes on with the best of the others. How many it took: they
   are the first of `faces`, the best first. */
static int suppress(Face* faces) {
  int taken = 0, i;
  for (;;) {
    int best = taken;
    for (i = taken; i < kAnchors; ++i)
      if (faces[i].score > faces[best].score) best = i;
    if (best >= kAnchors || faces[best].score < kLeastScore) return taken;
    const Face face = faces[best];
    memmove(&faces[taken + 1], &faces[taken], (size_t)(best - taken) * sizeof face);
    faces[taken++] = face;
    for (i = taken; i < kAnchors; ++i)
      if (overlap(&face, &faces[i]) >= kMostOverlap) faces[i].score = 0;
  }
}

static int within(float at, int most) { return at < 0 ? 0 : at > (float)most ? most : (int)at; }

/* A green frame, thick enough to be seen. */
static void draw(Picture* picture, const Face* face) {
  const int longer = picture->width > picture->height ? picture->width : picture->height;
  const int thick = longer / 200 + 1;
  const int x0 = within(face->x0, picture->width), x1 = within(face->x1, picture->width);
  const int y0 = within(face->y0, picture->height), y1 = within(face->y1, picture->height);
  int x, y;
  for (y = y0; y < y1; ++y)
    for (x = x0; x < x1; ++x)
      if (y - y0 < thick || y1 - y <= thick || x - x0 < thick || x1 - x <= thick) {
        unsigned char* pixel = &picture->pixels[((size_t)y * (size_t)picture->width + (size_t)x) * 3];
        pixel[0] = pixel[2] = 0;
        pixel[1] = 255;
      }
}

static DLTensor tensor(void* data, uint8_t code, uint8_t bits, int32_t ndim, int64_t* shape) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = ndim;
  t.dtype.code = code;
  t.dtype.bits = bits;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

/* Whether the model ran. The scores of both kinds of anchors lie behind each other, and so do the numbers. */
static int run(const char* artifact, unsigned char* small, float* scores, float* numbers) {
  int64_t image_shape[] = {1, kSide, kSide, 3}, fine[] = {1, kFine, 1}, coarse[] = {1, kAnchors - kFine, 1};
  int64_t fine_numbers[] = {1, kFine, kNumbers}, coarse_numbers[] = {1, kAnchors - kFine, kNumbers};
  const DLTensor image = tensor(small, kDLUInt, 8, 4, image_shape);
  const DLTensor out[] = {tensor(scores, kDLFloat, 32, 3, fine), tensor(scores + kFine, kDLFloat, 32, 3, coarse),
                          tensor(numbers, kDLFloat, 32, 3, fine_numbers),
                          tensor(numbers + kFine * kNumbers, kDLFloat, 32, 3, coarse_numbers)};
  const DLTensor *inputs[] = {&image}, *outputs[] = {&out[0], &out[1], &out[2], &out[3]};
  HoneModel* model;
  if (hone_open(artifact, &model) != HONE_OK) return 0;
  HoneRuntime* pool = hone_pool_new(0); /* a thread for each CPU; null, where there are none: this thread alone */
  const int32_t code = hone_run(model, inputs, 1, outputs, 4, pool);
  hone_pool_free(pool);
  hone_close(model);
  return code == HONE_OK;
}

int main(int argc, char** argv) {
  static unsigned char small[kSide * kSide * 3];
  static float scores[kAnchors], numbers[kAnchors * kNumbers];
  static Face faces[kAnchors];
  Picture picture;
  int i;
  if (argc != 4) return fprintf(stderr, "usage: faces BLAZEFACE.so PICTURE.ppm FOUND.ppm\n"), 2;
  if (!read_ppm(argv[2], &picture))
    return fprintf(stderr, "%s: cannot be read as a PPM of bytes (P6, 255)\n", argv[2]), 2;

  const int longer = picture.width > picture.height ? picture.width : picture.height;
  const int times = (longer + kSide - 1) / kSide;
  shrink(&picture, times, small);
  if (!run(argv[1], small, scores, numbers)) return fprintf(stderr, "%s\n", hone_last_error()), 1;
  for (i = 0; i < kAnchors; ++i) faces[i] = face_of(i, scores[i], &numbers[i * kNumbers], times);
  const int count = suppress(faces);

  for (i = 0; i < count; ++i) {
    printf("face from %.0f, %.0f to %.0f, %.0f, score %.2f\n", (double)faces[i].x0, (double)faces[i].y0,
           (double)faces[i].x1, (double)faces[i].y1, (double)faces[i].score);
    draw(&picture, &faces[i]);
  }
  if (!write_ppm(argv[3], &picture)) return perror(argv[3]), 1;
  free(picture.pixels);
  return 0;
}
