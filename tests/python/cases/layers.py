"""torch.nn beyond the shared kit: every layer's values, initial values, gradients, text."""
from kit import case, table, raised, sub


def setup(T):
    def ramp(*shape):
        n = 1
        for s in shape:
            n *= s
        return ((T.arange(n) * 7 % 11).float() / 5 - 1).reshape(shape)

    def made(make, seed=0):
        T.manual_seed(seed)
        return make()

    def both(module, *inputs):
        """The output, and the gradients of inputs and parameters of a weighted sum."""
        inputs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
        y = module(*inputs)
        first = y[0] if isinstance(y, tuple) else y
        (first * ramp(*first.shape)).sum().backward()
        return (first.detach(), [x.grad for x in inputs if x.requires_grad], [(n, p.grad) for n, p in module.named_parameters()])

    def values(module):
        return [(n, p) for n, p in module.named_parameters()]
    return {"ramp": ramp, "made": made, "both": both, "values": values, "x": ramp(4, 3), "img": ramp(2, 4, 6, 6), "seq": ramp(2, 4, 8),
            "vol": ramp(1, 2, 4, 4, 4), "R": sub(T, "nn.utils.rnn")}


table(setup, """
kernels_of_nothing: [raised(lambda: f(T.ones(1, 1, *[4] * d), T.ones(1, 1, *k))) for f, d, k in ((nn.functional.conv1d, 1, (0,)), (nn.functional.conv2d, 2, (2, 0)), (nn.functional.conv3d, 3, (1, 0, 2)), (nn.functional.conv_transpose1d, 1, (0,)), (nn.functional.conv_transpose2d, 2, (0, 2)))]
classes_of_other_dtypes: [raised(lambda: f(T.ones(2, 3), t([0, 1]).to(d))) for f in (nn.functional.nll_loss, nn.functional.cross_entropy) for d in (T.int32, T.float32, T.bool)]
linear: both(made(lambda: nn.Linear(3, 2)), x)
bilinear: both(made(lambda: nn.Bilinear(3, 3, 2)), x, x * 2)
conv1d: both(made(lambda: nn.Conv1d(4, 3, 3, padding=1)), seq)
conv2d: both(made(lambda: nn.Conv2d(4, 2, 3, stride=2, padding=1)), img)
conv2d_groups: both(made(lambda: nn.Conv2d(4, 4, 3, groups=2, bias=False)), img)
conv2d_circular: both(made(lambda: nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode='circular')), img)
conv2d_reflect_same: made(lambda: nn.Conv2d(4, 2, 4, padding='same', padding_mode='reflect'))(img)
conv3d: both(made(lambda: nn.Conv3d(2, 2, 2)), vol)
conv_transpose1d: both(made(lambda: nn.ConvTranspose1d(4, 2, 3, stride=2, padding=1, output_padding=1)), seq)
conv_transpose2d: made(lambda: nn.ConvTranspose2d(4, 2, 3, stride=2))(img, output_size=(14, 13)).shape
batch_norm1d: both(nn.BatchNorm1d(3), x)
batch_norm2d: b = nn.BatchNorm2d(4); both(b, img), b.running_mean, b.running_var, b.num_batches_tracked
batch_norm_no_bias: b = nn.BatchNorm2d(4, bias=False); both(b, img), b.bias
batch_norm_momentum_none: b = nn.BatchNorm1d(3, momentum=None); b(x); b(x * 3); b.running_mean, b.running_var
batch_norm_eval_gradient: b = nn.BatchNorm1d(3); b(x); b.eval(); both(b, x)
instance_norm: both(nn.InstanceNorm1d(4, affine=True), seq), nn.InstanceNorm2d(4)(img[0]).shape
instance_norm_tracked: i = nn.InstanceNorm1d(4, track_running_stats=True); i(seq); i.eval(); i(seq), i.running_mean, i.running_var
layer_norm: both(nn.LayerNorm(3), x), both(nn.LayerNorm([6, 6]), img)
rms_norm: both(nn.RMSNorm(3), x), nn.RMSNorm(3, eps=0.1)(x)
group_norm: both(nn.GroupNorm(2, 4), img), both(nn.GroupNorm(4, 4, affine=False), seq)
local_response_norm: nn.LocalResponseNorm(3)(img), nn.LocalResponseNorm(2, alpha=0.1)(img)
embedding: both(made(lambda: nn.Embedding(5, 3)), t([[0, 4], [4, 1]]))
embedding_padding: both(made(lambda: nn.Embedding(5, 3, padding_idx=-1)), t([[0, 4], [4, 1]]))
embedding_by_frequency: both(made(lambda: nn.Embedding(5, 3, scale_grad_by_freq=True)), t([0, 4, 4, 4]))
embedding_max_norm: e = made(lambda: nn.Embedding(5, 3, max_norm=0.5)); e(t([0, 4, 0])), e.weight
embedding_pretrained: e = nn.Embedding.from_pretrained(ramp(4, 3)); e(t([1, 2])), e.weight.requires_grad
embedding_bag_2d: [both(made(lambda: nn.EmbeddingBag(5, 3, mode=m)), t([[0, 4], [4, 1]])) for m in ('sum', 'mean', 'max')]
embedding_bag_offsets: [made(lambda: nn.EmbeddingBag(5, 3, mode=m))(t([0, 4, 4, 1]), t([0, 0, 3])) for m in ('sum', 'mean', 'max')]
embedding_bag_weights: made(lambda: nn.EmbeddingBag(5, 3, mode='sum'))(t([0, 4, 1]), t([0, 2]), per_sample_weights=t([1., 2., 3.]))
embedding_bag_padding: made(lambda: nn.EmbeddingBag(5, 3, padding_idx=4))(t([[0, 4], [4, 4]])), made(lambda: nn.EmbeddingBag(5, 3, include_last_offset=True))(t([0, 1, 2]), t([0, 1, 3]))
rnn_relu: both(made(lambda: nn.RNN(3, 2, nonlinearity='relu')), ramp(4, 2, 3))
rnn_two_ways: both(made(lambda: nn.RNN(3, 2, num_layers=2, bidirectional=True, batch_first=True)), ramp(2, 4, 3))
gru_two_ways: both(made(lambda: nn.GRU(3, 2, num_layers=2, bidirectional=True)), ramp(4, 2, 3))
lstm_two_ways: made(lambda: nn.LSTM(3, 2, num_layers=2, bidirectional=True))(ramp(4, 2, 3))
lstm_gradient: both(made(lambda: nn.LSTM(3, 2)), ramp(4, 2, 3))
lstm_projected: l = made(lambda: nn.LSTM(3, 4, proj_size=2)); l(ramp(4, 2, 3)), [n for n, _ in l.named_parameters()]
lstm_state: made(lambda: nn.LSTM(3, 2, bias=False))(ramp(4, 2, 3), (ramp(1, 2, 2), ramp(1, 2, 2) * 2))
lstm_alone: made(lambda: nn.LSTM(3, 2))(ramp(4, 3)), made(lambda: nn.GRU(3, 2))(ramp(4, 3), ramp(1, 2))
lstm_packed: p = R.pack_padded_sequence(ramp(4, 3, 3), [4, 2, 1]); o, (h, c) = made(lambda: nn.LSTM(3, 2, bidirectional=True))(p); o.data, o.batch_sizes, h, c, R.pad_packed_sequence(o)
gru_packed_unsorted: p = R.pack_padded_sequence(ramp(3, 4, 3), t([2, 4, 1]), batch_first=True, enforce_sorted=False); o, h = made(lambda: nn.GRU(3, 2))(p); o.data, h, R.pad_packed_sequence(o, batch_first=True, padding_value=7.)
pad_and_pack: s = [t([1., 2.]), t([3.]), t([4., 5., 6.])]; R.pad_sequence(s), R.pad_sequence(s, batch_first=True, padding_value=-1., padding_side='left'), R.pack_sequence(s, enforce_sorted=False)[:], R.unpad_sequence(R.pad_sequence(s), t([2, 1, 3]))
rnn_errors: raised(lambda: nn.RNN(3, 2)(ramp(4, 2, 4)), has='input_size'), raised(lambda: nn.RNN(3, 2)(ramp(4, 2, 3), ramp(1, 3, 2)), has='hidden size'), raised(lambda: nn.RNN(3, 0)), raised(lambda: nn.LSTM(3, 2, dropout=2))
cells: both(made(lambda: nn.LSTMCell(3, 2)), x)[0], both(made(lambda: nn.GRUCell(3, 2)), x), made(lambda: nn.RNNCell(3, 2, nonlinearity='relu'))(x, ramp(4, 2)), made(lambda: nn.GRUCell(3, 2))(x[0])
multihead: both(made(lambda: nn.MultiheadAttention(4, 2)), ramp(3, 2, 4), ramp(5, 2, 4), ramp(5, 2, 4) * 2)
multihead_self: a = made(lambda: nn.MultiheadAttention(4, 2, batch_first=True, bias=False)); q = ramp(2, 3, 4); a(q, q, q), a(q, q, q, need_weights=False), a(q, q, q, average_attn_weights=False)[1]
multihead_masks: a = made(lambda: nn.MultiheadAttention(4, 2)); q = ramp(3, 2, 4); a(q, q, q, attn_mask=T.triu(T.ones(3, 3, dtype=T.bool), 1)), a(q, q, q, key_padding_mask=t([[False, False, True], [False, True, False]]), attn_mask=ramp(4, 3, 3))
multihead_others: a = made(lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True)); values(a), a(ramp(3, 2, 4), ramp(4, 2, 3), ramp(4, 2, 5)), a(ramp(3, 4), ramp(4, 3), ramp(4, 5))
multihead_errors: raised(lambda: nn.MultiheadAttention(5, 2)), raised(lambda: nn.MultiheadAttention(4, 2)(ramp(3, 2, 6), ramp(3, 2, 6), ramp(3, 2, 6)))
encoder_layer: [both(made(lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, norm_first=f, activation=a)), ramp(3, 2, 4)) for f, a in ((False, 'relu'), (True, 'gelu'))]
decoder: d = made(lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0), 2, nn.LayerNorm(4))); d(ramp(3, 2, 4), ramp(5, 2, 4), tgt_mask=nn.Transformer.generate_square_subsequent_mask(3))
transformer: m = made(lambda: nn.Transformer(4, 2, 1, 1, 8, dropout=0.0)); m(ramp(3, 2, 4), ramp(2, 2, 4)), len(m.state_dict()), raised(lambda: m(ramp(3, 2, 4), ramp(2, 3, 4)), has='batch')
pools: [p(img) for p in (nn.MaxPool2d(2, padding=1), nn.AvgPool2d((2, 3), stride=1), nn.AdaptiveAvgPool2d(3), nn.AdaptiveMaxPool2d((2, None)), nn.LPPool2d(2, 2))], nn.LPPool1d(3, 2)(seq.abs()), nn.MaxPool1d(3, return_indices=True)(seq)
unpool: v, i = F.max_pool2d(img, 2, return_indices=True); nn.MaxUnpool2d(2)(v, i), F.max_unpool1d(*F.max_pool1d(seq, 2, return_indices=True), 2), nn.MaxUnpool2d(2)(v, i, output_size=(2, 4, 7, 7)).shape, raised(lambda: nn.MaxUnpool2d(2)(v, i, output_size=(9, 9)))
paddings: [p(img[:1, :1, :3, :3]) for p in (nn.ZeroPad2d((1, 0, 2, 0)), nn.ReflectionPad2d(1), nn.ReplicationPad2d(1), nn.CircularPad2d(1), nn.ConstantPad2d(1, 2.5))]
dropouts: [made(lambda: d(T.ones(3, 4, 2))) for d in (nn.Dropout(0.3), nn.Dropout1d(), nn.AlphaDropout(0.2), nn.FeatureAlphaDropout(0.4))], made(lambda: nn.Dropout2d()(T.ones(2, 4, 2, 2))), made(lambda: nn.Dropout3d()(T.ones(4, 2, 2, 2)))
attention_options: q = ramp(2, 4, 3, 4); F.scaled_dot_product_attention(q, q[:, :2], q[:, :2], enable_gqa=True), F.scaled_dot_product_attention(q, q, q, scale=0.3), F.scaled_dot_product_attention(q, q, q, attn_mask=T.eye(3, dtype=T.bool)), F.scaled_dot_product_attention(q, q, q, attn_mask=ramp(3, 3))
attention_nothing_to_see: F.scaled_dot_product_attention(ramp(1, 2, 4), ramp(1, 3, 4), ramp(1, 3, 4), attn_mask=t([[True, False, True], [False, False, False]]))
gumbel: made(lambda: F.gumbel_softmax(x)), made(lambda: F.gumbel_softmax(x, tau=0.5, hard=True, dim=0))
half_and_double: nn.Linear(3, 2).half()(x.half()).dtype, made(lambda: nn.LayerNorm(3).double())(x.double()), nn.BatchNorm1d(3).bfloat16()(x.bfloat16()).dtype
""", rtol=3e-5, atol=3e-6)

table(setup, """
uniform_family: [made(lambda: f(T.empty(4, 6))) for f in (nn.init.uniform_, nn.init.normal_, nn.init.trunc_normal_, nn.init.xavier_uniform_, nn.init.xavier_normal_, nn.init.kaiming_uniform_, nn.init.kaiming_normal_, nn.init.orthogonal_)]
options: made(lambda: nn.init.trunc_normal_(T.empty(50), 1., 2., -1., 2.)), made(lambda: nn.init.kaiming_uniform_(T.empty(4, 3, 2), mode='fan_out', nonlinearity='tanh')), made(lambda: nn.init.orthogonal_(T.empty(6, 4), gain=2))
sparse_dirac: made(lambda: nn.init.sparse_(T.empty(6, 4), 0.4)), nn.init.dirac_(T.empty(4, 2, 3, 3), groups=2)
generator: g = T.Generator().manual_seed(3); nn.init.uniform_(T.empty(4), generator=g), nn.init.xavier_normal_(T.empty(3, 4), generator=g)
errors: raised(lambda: nn.init.xavier_uniform_(T.empty(3)), has='fewer than 2'), raised(lambda: nn.init.calculate_gain('no'), has='Unsupported'), raised(lambda: nn.init.eye_(T.empty(3)))
of_layers: [values(made(f)) for f in (lambda: nn.Conv1d(2, 3, 2), lambda: nn.ConvTranspose2d(4, 2, 3, groups=2), lambda: nn.GRU(2, 3, 2, bidirectional=True), lambda: nn.LSTMCell(2, 3), lambda: nn.EmbeddingBag(4, 3), lambda: nn.PReLU(3), lambda: nn.TransformerEncoderLayer(4, 2, 8))]
""", prefix="init_", rtol=1e-5, atol=1e-6)

EXAMPLES = '''Linear(2,3)|Bilinear(2,3,4)|Conv1d(2,3,4)|Conv2d(4,4,3,stride=2,padding=1,dilation=2,groups=2,bias=False,padding_mode='circular')|Conv2d(1,1,3,padding='same')|ConvTranspose2d(2,2,3,stride=2,output_padding=1,groups=2)|MaxPool1d(2)|MaxPool2d(2,stride=1,padding=1,dilation=2,ceil_mode=True)|MaxPool3d((1,2,2))|AvgPool1d(2)|AvgPool2d(2)|AdaptiveAvgPool2d((3,None))|AdaptiveMaxPool2d(3)|LPPool2d(2,3)|MaxUnpool2d(2)|BatchNorm1d(3)|BatchNorm2d(3,affine=False)|InstanceNorm2d(3)|LayerNorm(3)|LayerNorm([3,4],bias=False)|GroupNorm(2,4)|RMSNorm(3)|LocalResponseNorm(2)|Embedding(3,4)|Embedding(3,4,padding_idx=1,max_norm=2.,scale_grad_by_freq=True)|EmbeddingBag(3,4)|EmbeddingBag(3,4,mode='sum',padding_idx=1,max_norm=2.)|Dropout(.3)|Dropout2d(inplace=True)|AlphaDropout()|ReLU()|ReLU(True)|LeakyReLU(.1)|ELU()|GELU('tanh')|SiLU(True)|Softplus()|Hardtanh(0,2,True)|PReLU()|RReLU()|Softmax(1)|LogSoftmax(1)|Softmax2d()|Hardshrink()|Threshold(1,2)|GLU()|Flatten()|Unflatten(1,(2,3))|Identity()|Sequential(Linear(1,2),ReLU())|Sequential()|ModuleList([Linear(1,2),Linear(1,2),ReLU()])|ModuleList()|ModuleDict({'a':Linear(1,2)})|RNN(2,3)|RNN(2,3,2,nonlinearity='relu',bias=False,batch_first=True,dropout=.5,bidirectional=True)|LSTM(2,3,proj_size=1)|GRU(2,3)|RNNCell(2,3,False,'relu')|LSTMCell(2,3)|GRUCell(2,3,bias=False)|MultiheadAttention(4,2)|TransformerDecoderLayer(4,2,8)|Transformer(4,2,1,1,8,batch_first=True)|L1Loss()|CrossEntropyLoss()|BCEWithLogitsLoss()|HuberLoss()|KLDivLoss()|CTCLoss()|CosineSimilarity()|PairwiseDistance()|TripletMarginLoss()|ConstantPad1d(1,2.)|ReflectionPad1d(1)|ReplicationPad3d(1)|ZeroPad2d(1)|CircularPad2d(1)|PixelShuffle(2)|PixelUnshuffle(2)|ChannelShuffle(2)|Upsample(scale_factor=2)|Upsample(size=(2,3),mode='bilinear',align_corners=True)|UpsamplingNearest2d(scale_factor=2)|Fold(2,3)|Unfold(2)|TripletMarginWithDistanceLoss()'''


@case
def texts(T):
    names = {name: getattr(T.nn, name) for name in dir(T.nn) if name[0].isupper()}
    return [repr(eval(text, dict(names))) for text in EXAMPLES.split("|")]


@case
def state_dict_keys(T):
    nn = T.nn
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.LSTM(2, 3, 2, bidirectional=True), nn.MultiheadAttention(4, 2),
                          nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2), nn.Embedding(3, 2), nn.PReLU())
    return [(key, tuple(value.shape)) for key, value in model.state_dict().items()], model.state_dict()._metadata["1"]


@case
def load_state_dict_messages(T):
    nn = T.nn

    def text(f):
        try:
            f()
        except RuntimeError as error:
            return str(error)
        return "no error"
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    state = m.state_dict()
    return (text(lambda: m.load_state_dict({})), text(lambda: m.load_state_dict({**state, "0.weight": T.zeros(3, 2), "7.x": T.zeros(1)})),
            repr(m.load_state_dict(state)), repr(m.load_state_dict({"0.weight": T.ones(2, 2)}, strict=False)), m[0].weight,
            m.load_state_dict({key: value.double() for key, value in state.items()}, assign=True), m[0].weight.dtype)


@case
def hooks(T):
    nn, seen = T.nn, []
    m = nn.Linear(2, 2)
    T.nn.init.ones_(m.weight)
    T.nn.init.zeros_(m.bias)
    first = m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {"input": kwargs["input"] * 2}), with_kwargs=True)
    m.register_forward_hook(lambda mod, args, kwargs, out: seen.append(sorted(kwargs)), with_kwargs=True)
    m.register_forward_hook(lambda mod, args, out: out + 1, prepend=True)
    a = m(input=T.ones(1, 2))
    first.remove()
    b = m(input=T.ones(1, 2))
    n = nn.Identity()
    n.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
    n.register_full_backward_pre_hook(lambda mod, go: (go[0] + 1,))
    x = T.ones(2, requires_grad=True)
    n(x).sum().backward()
    return a, b, seen, x.grad


@case
def containers(T):
    nn = T.nn
    s = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    s.append(nn.Linear(2, 3)).insert(1, nn.Tanh())
    s2 = s + nn.Sequential(nn.Identity())
    del s[0]
    names = [type(m).__name__ for m in s], [type(m).__name__ for m in s2], [name for name, _ in s.named_children()]
    li = nn.ModuleList([nn.Linear(1, 1)])
    li += [nn.ReLU()]
    li.insert(0, nn.Tanh())
    popped = type(li.pop(1)).__name__
    d = nn.ModuleDict({"a": nn.ReLU()})
    d["b"] = nn.Tanh()
    d.update([("c", nn.Identity())])
    pl = nn.ParameterList([T.ones(2), T.zeros(1)])
    pd = nn.ParameterDict({"w": T.ones(1)})
    pd["v"] = T.zeros(2)
    return (names, popped, len(li), list(d), "b" in d, len(d), [n for n, _ in pl.named_parameters()], len(pl), pl[-1], sorted(pd.keys()),
            [n for n, _ in pd.named_parameters()], raised(lambda: s[9]), raised(lambda: li[5]))


@case
def module_rules(T):
    nn = T.nn
    m = nn.Linear(2, 1)

    def put(name, value):
        setattr(m, name, value)
    m.register_buffer("b", T.zeros(1))
    return (raised(lambda: put("weight", T.ones(1)), has="cannot assign"), raised(lambda: put("b", 3), has="buffer"),
            raised(lambda: m.register_parameter("a.b", None), has="contain"), raised(lambda: m.register_buffer("weight", T.zeros(1)), has="exists"),
            raised(lambda: m.add_module("x", 3)), raised(lambda: m.get_submodule("no"), has="no"), raised(lambda: m.train(3)),
            raised(lambda: m.to(T.int64)), raised(lambda: nn.Parameter([1.])), m.get_parameter("weight").shape,
            [n for n, _ in nn.Sequential(m, m).named_parameters(remove_duplicate=False)], m.extra_repr())


@case
def clip_and_vectors(T):
    nn = T.nn
    T.manual_seed(0)
    m = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    out = []
    for kind in (2.0, 1.0, float("inf")):
        m.zero_grad()
        (m(T.ones(2, 3)) * 100).sum().backward()
        out.append((nn.utils.clip_grad_norm_(m.parameters(), 1.5, norm_type=kind), [p.grad for p in m.parameters()]))
    v = nn.utils.parameters_to_vector(m.parameters())
    nn.utils.vector_to_parameters(v * 2, m.parameters())
    return out, nn.utils.clip_grad_norm_([], 1.0), m[1].bias, v
