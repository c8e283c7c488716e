/* The generated constants, and the types that follow from config.h. */
#ifndef TMLCD_MODEL_H
#define TMLCD_MODEL_H

#include "tmlcd.h"

/* One feature in T. Distances between integers are exact; between floats see knn.c. */
#if TML_STORE == TML_FLOAT32
typedef float tml_value;
#elif TML_STORE == TML_INT16
typedef int16_t tml_value;
typedef uint64_t tml_distance;
#else
typedef uint8_t tml_value;
typedef uint32_t tml_distance;
#endif

#if TML_LAYOUT == TML_PAPER && TML_STORE == TML_FLOAT32
typedef int32_t tml_label; /* the paper counts 32 bits */
#else
typedef uint8_t tml_label;
#endif

/* The settings in use, and those of config.h; in learner.c. */
#define TML_SETTINGS                                                                                                 \
    {                                                                                                                \
        TML_THRESHOLD, TML_LEARNER, TML_MAX_SIZE, TML_K, TML_BY_DISTANCE, TML_BATCH, TML_WARMUP, TML_DOWN,           \
            TML_CONDENSE                                                                                             \
    }
extern tml_settings tml_current;

/* Arrays of one entry per sample of T have this length. In WebAssembly (TML_SIZED_LATER) it is a maximum:
 * TML_CAPACITY and TML_FEATURES are variables there, and the features of T lie outside the store. */
#ifndef TML_ROOM
#define TML_ROOM TML_CAPACITY
#endif

#if TML_LEARNER == TML_TANDEM && TML_SIZED_LATER
extern float *tml_mean, tml_low, tml_levels;
#elif TML_LEARNER == TML_TANDEM
extern const float tml_mean[TML_FEATURES];                                /* of the first samples */
extern const float tml_initial_weights[2][TML_SEEN][TML_FEATURES];        /* fast layer, and its average */
extern const float tml_initial_biases[2][TML_SEEN];
extern const float tml_initial_confusion[TML_SEEN][TML_SEEN];
extern const float tml_initial_evidence[TML_EXPERTS];
extern const uint8_t tml_initial_codes[TML_SEEN];                         /* of the classes, in the layers' order */
#endif

#if TML_INITIAL > 0
/* T as it was when the model was exported, oldest first; Tandem's labels are places in its layers. */
extern const tml_value tml_initial_x[TML_INITIAL][TML_FEATURES];
extern const uint8_t tml_initial_label[TML_INITIAL];
#endif

#if TML_NAMED > 0
/* Samples whose class was known at the export, in T or not: what is near to one is not unknown. */
#ifndef TML_NAMED_COUNT
#define TML_NAMED_COUNT TML_NAMED
#define TML_NAMED_TYPE const tml_value
#endif
extern TML_NAMED_TYPE tml_named_x[TML_NAMED][TML_FEATURES];
#endif

#if TML_AUDIO
extern const float tml_window[TML_WINDOW];            /* Hann; of clips and int16 audio scaled to full scale = 1 */
extern const float tml_twiddle[TML_N_FFT / 2][2];     /* cos, -sin of 2 pi i / n_fft */
#if TML_FRONT_END != TML_CLIP
extern const uint16_t tml_finder_edges[7];            /* bins at which the bands of the word finder begin and end */
extern const uint8_t tml_mel_first[TML_MELS];         /* bins of a band … */
extern const uint8_t tml_mel_count[TML_MELS];
extern const float tml_mel_weight[TML_MEL_WEIGHTS];   /* … and their weights, one band after the other */
#if TML_FRONT_END == TML_WORD
extern const float tml_power[256];                    /* power of a level in half decibels */
extern const float tml_cosine[12][TML_MELS];          /* weighted rows of the discrete cosine transform */
extern const float tml_smoothing[4];                  /* weights of a frame and its neighbours on either side */
#elif TML_FRONT_END == TML_SPEECH
extern const uint16_t tml_layers[TML_LAYERS][8];      /* see speech.c */
extern const uint32_t tml_weights[TML_WEIGHTS / 4];   /* int8 by layer, channel and tap; the lowest byte first */
extern const int32_t tml_layer_bias[TML_CHANNELS];    /* by layer and channel */
extern const int32_t tml_positive[TML_CHANNELS];      /* factors of positive and negative sums */
extern const int32_t tml_negative[TML_CHANNELS];
extern const float tml_output_scale[TML_FEATURES];
extern const float tml_output_mean[TML_FEATURES];
#endif
#endif
#if TML_FRONT_END == TML_CLIP || TML_FRONT_END == TML_FILTER
extern const float tml_bias[TML_FILTERS];             /* batch normalisation, folded into filter and bias */
#if TML_FUSED
extern const float tml_fused[TML_FILTERS][49][256];   /* contribution of a level at a tap: colour x filter */
#else
extern const float tml_viridis[256][3];
#if TML_LAYOUT == TML_PAPER
extern float tml_filter[TML_FILTERS][49][3];          /* in RAM, where the paper counts it */
#else
extern const float tml_filter[TML_FILTERS][49][3];
#endif
#endif
#endif
#endif

#if TML_TESTS
extern const double tml_candidates[TML_CANDIDATES]; /* candidate accuracies after the change, v1 */
#endif

#endif
