// Rows of braze/random.h.
#include "braze/random.h"

#include "frontend/python/generator.h"
#include "frontend/python/signature.h"

namespace braze::python {

namespace {

RandomOptions options(const Arguments& a, std::size_t generator, std::optional<DType> dtype = {}) {
  return {.dtype = dtype, .generator = generator_or_none(a.object(generator)), .where = {}};
}

Generator* stream(const Arguments& a, std::size_t i) { return generator_or_none(a.object(i)); }

const Rows rows{
    {"rand(int[] size, *, Generator? generator=None, Options)", function,
     [](Arguments& a) { return rand(a.ints(0), options(a, 1, a.options().dtype)); }, "Uniform draws from [0, 1)."},
    {"randn(int[] size, *, Generator? generator=None, Options)", function,
     [](Arguments& a) { return randn(a.ints(0), options(a, 1, a.options().dtype)); }, "Standard normal draws."},
    {"randint(int low, int high, int[] size, *, Generator? generator=None, Options)", function,
     [](Arguments& a) { return randint(a.integer(0), a.integer(1), a.ints(2), options(a, 3, a.options().dtype)); },
     "Integers from [low, high)."},
    {"randint(int high, int[] size, *, Generator? generator=None, Options)", function,
     [](Arguments& a) { return randint(a.integer(0), a.ints(1), options(a, 2, a.options().dtype)); }},
    {"randperm(int n, *, Generator? generator=None, Options)", function,
     [](Arguments& a) { return randperm(a.integer(0), options(a, 1, a.options().dtype)); }, "0 ... n - 1 in random order."},
    {"rand_like(Tensor input, *, Generator? generator=None, Options, MemoryFormat? memory_format=None)", function,
     [](Arguments& a) { return rand_like(a.tensor(0), options(a, 1, a.options().dtype)); }, "Uniform draws with input's sizes."},
    {"randn_like(Tensor input, *, Generator? generator=None, Options, MemoryFormat? memory_format=None)", function,
     [](Arguments& a) { return randn_like(a.tensor(0), options(a, 1, a.options().dtype)); },
     "Standard normal draws with input's sizes."},
    {"randint_like(Tensor input, int low, int high, *, Generator? generator=None, Options, MemoryFormat? memory_format=None)",
     function, [](Arguments& a) { return randint_like(a.tensor(0), a.integer(1), a.integer(2), options(a, 3, a.options().dtype)); },
     "Integers from [low, high) with input's sizes."},
    {"randint_like(Tensor input, int high, *, Generator? generator=None, Options, MemoryFormat? memory_format=None)", function,
     [](Arguments& a) { return randint_like(a.tensor(0), 0, a.integer(1), options(a, 2, a.options().dtype)); }},
    {"normal(Tensor mean, Tensor|Scalar std=1, *, Generator? generator=None)", function | out_casts,
     [](Arguments& a) { return normal(a.in(0), a.in(1), options(a, 2)); }, "Normal draws of each mean and standard deviation."},
    {"normal(float mean, Tensor std, *, Generator? generator=None)", function | out_casts,
     [](Arguments& a) { return normal(a.number(0), a.in(1), options(a, 2)); }},
    {"normal(float mean, float std, int[] size, *, Generator? generator=None, Options)", function | out_casts,
     [](Arguments& a) { return normal(a.number(0), a.number(1), a.ints(2), options(a, 3, a.options().dtype)); }},
    {"bernoulli(Tensor input, *, Generator? generator=None)", function | method | out_casts,
     [](Arguments& a) { return bernoulli(a.in(0), options(a, 1)); }, "1 with each element's probability, else 0."},
    {"bernoulli(Tensor input, float p, *, Generator? generator=None)", function | method,
     [](Arguments& a) { return bernoulli(a.in(0), a.number(1), options(a, 2)); }},
    {"poisson(Tensor input, Generator? generator=None)", function, [](Arguments& a) { return poisson(a.in(0), options(a, 1)); },
     "Counts of each element's rate."},
    {"multinomial(Tensor input, int num_samples, bool replacement=False, *, Generator? generator=None)",
     function | method | out_casts, [](Arguments& a) { return multinomial(a.in(0), a.integer(1), a.boolean(2), options(a, 3)); },
     "Numbers of elements of each row, drawn in proportion to the row's weights."},

    {"uniform_(Tensor input, float from=0, float to=1, *, Generator? generator=None)", method,
     [](Arguments& a) { return a.self().uniform_(a.number(1), a.number(2), stream(a, 3)); }, "Draws from [from, to), in place."},
    {"normal_(Tensor input, float mean=0, float std=1, *, Generator? generator=None)", method,
     [](Arguments& a) { return a.self().normal_(a.number(1), a.number(2), stream(a, 3)); }, "Normal draws, in place."},
    {"log_normal_(Tensor input, float mean=1, float std=2, *, Generator? generator=None)", method,
     [](Arguments& a) { return a.self().log_normal_(a.number(1), a.number(2), stream(a, 3)); },
     "Exponentials of normal draws, in place."},
    {"exponential_(Tensor input, float lambd=1, *, Generator? generator=None)", method,
     [](Arguments& a) { return a.self().exponential_(a.number(1), stream(a, 2)); }, "Exponential draws of this rate, in place."},
    {"cauchy_(Tensor input, float median=0, float sigma=1, *, Generator? generator=None)", method,
     [](Arguments& a) { return a.self().cauchy_(a.number(1), a.number(2), stream(a, 3)); }, "Cauchy draws, in place."},
    {"geometric_(Tensor input, float p, *, Generator? generator=None)", method,
     [](Arguments& a) { return a.self().geometric_(a.number(1), stream(a, 2)); }, "Trials until the first success, in place."},
    {"bernoulli_(Tensor input, Tensor|Scalar p=0.5, *, Generator? generator=None)", method,
     [](Arguments& a) { return a.self().bernoulli_(a.in(1), stream(a, 2)); }, "1 with this probability, else 0, in place."},
    {"random_(Tensor input, *, Generator? generator=None)", method, [](Arguments& a) { return a.self().random_(stream(a, 1)); },
     "Integers up to the dtype's greatest, in place."},
    {"random_(Tensor input, int to, *, Generator? generator=None)", method,
     [](Arguments& a) { return a.self().random_(a.integer(1), stream(a, 2)); }},
    {"random_(Tensor input, int from, int? to, *, Generator? generator=None)", method,
     [](Arguments& a) { return a.self().random_(a.integer(1), a.integer_or_none(2), stream(a, 3)); }},

    {"get_rng_state() -> Tensor", function, [](Arguments&) { return get_rng_state(); },
     "The default generator's state, uint8[5056]."},
    {"set_rng_state(Tensor new_state) -> None", function, [](Arguments& a) { set_rng_state(a.tensor(0)); },
     "Puts such a state back."},
};

}  // namespace

}  // namespace braze::python
