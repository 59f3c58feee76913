"""Tensor functions beyond the shared kit: derivatives of samples, writes to expanded tensors, and the names that derivatives go by."""
from kit import table, raised, warned


def setup(T):
    def expanded():
        return T.arange(3.).reshape(3, 1).expand(3, 2)

    def written(f):
        x = expanded()
        kinds = warned(lambda: f(x))
        return x, kinds

    def names(text):
        """Of grad_fn, and what is printed."""
        x = T.linspace(.1, .9, 9).reshape(3, 3).clone().requires_grad_()
        v = T.linspace(.1, .9, 3).requires_grad_()
        image = T.linspace(-1, 1, 32).reshape(1, 2, 4, 4).clone().requires_grad_()
        scope = {"T": T, "F": T.nn.functional, "x": x, "v": v, "im": image, "i": T.tensor([0, 2]),
                 "ii": T.tensor([[0, 1, 2], [2, 1, 0], [0, 0, 0]]), "L": T.linalg, "x3": T.ones(2, 3, 3).requires_grad_(),
                 "x5": T.ones(1, 2, 4, 4, 4).requires_grad_(), "c": T.tensor([0, 1, 2])}

        def name(r):
            if isinstance(r, (tuple, list)):
                return [name(each) for each in r]
            return type(r.grad_fn).__name__ if r.grad_fn is not None else None
        return [(line.strip(), name(eval(line.strip(), scope))) for line in text.split(";")]
    def name_after(statement):
        """Of a product whose operand is drawn, and thus may fail, once it is written to."""
        x, v = T.rand(3, 3).requires_grad_(), T.rand(3).requires_grad_()
        y = x * 1
        exec(statement.strip(), {"T": T, "x": x, "v": v, "y": y, "c": T.tensor([0, 1, 2])})
        return statement.strip(), type(y.grad_fn).__name__
    y = T.tensor([4., 2., 1., 3., 8.])
    return {"name_after": name_after, "expanded": expanded, "written": written, "names": names, "y": y, "y2": T.arange(24.).reshape(2, 3, 4) ** 2,
            "c": T.tensor([0., 1., 3., 4., 8.]), "m": T.tensor([[True, False], [False, False], [True, True]]), "i": T.tensor([0, 2]),
            "ii": T.tensor([[0, 1], [1, 0], [2, 2]]), "src": T.arange(6.).reshape(3, 2) + 10}


table(setup, """
gradient: T.gradient(y), T.gradient(y, spacing=2.), T.gradient(y, spacing=[2]), T.gradient(y, spacing=True), T.gradient(y, edge_order=2)
gradient_coordinates: T.gradient(y, spacing=(c,)), T.gradient(y, spacing=(c,), edge_order=2), T.gradient(y, spacing=(c.long(),)), T.gradient(y, spacing=(c.double(),))
gradient_dims: T.gradient(y2), T.gradient(y2, dim=1), T.gradient(y2, dim=(0, 2)), T.gradient(y2, dim=(-1, 0), spacing=2), T.gradient(y2, spacing=(1., 2., 3.)), T.gradient(y2, dim=1, edge_order=2)
gradient_grids: T.gradient(y2, spacing=(T.tensor([0., 1]), T.tensor([0., 1, 5]), T.tensor([0., 1, 2, 5]))), T.gradient(y2, spacing=(T.tensor([0., 1, 2, 3.]),), dim=2)
gradient_dtypes: T.gradient(T.arange(5)), T.gradient(T.arange(5), spacing=2), T.gradient(y.half()), T.gradient(T.complex(y, y)), T.gradient(y2.double(), dim=0), T.gradient(y, spacing=1j), T.gradient(y, spacing=0)
gradient_nothing: T.gradient(y2, dim=[]), T.gradient(T.tensor(1.))
gradient_strides: T.gradient(y2.transpose(0, 2), dim=0)[0].stride()
gradient_errors: [raised(lambda: T.gradient(y2, spacing=(1., 2.)), has="length"), raised(lambda: T.gradient(y2, dim=(0, 2), spacing=(1., 2., 3.)), has="same length"), raised(lambda: T.gradient(y2, dim=0, edge_order=2), has="at least edge_order+1"), raised(lambda: T.gradient(T.zeros(0)), has="edge_order+1"), raised(lambda: T.gradient(y, edge_order=3), has="edge_order=1 and edge_order=2"), raised(lambda: T.gradient(y, dim=1)), raised(lambda: T.gradient(y2, dim=(1, 1)), has="multiple times"), raised(lambda: T.gradient(y, spacing="a")), raised(lambda: T.gradient(y, spacing=(T.tensor([0., 1.]),))), raised(lambda: T.gradient(T.arange(5) > 2)), raised(lambda: T.gradient(T.arange(5).byte())), raised(lambda: T.gradient(y, 2.)), raised(lambda: T.gradient(y, spacing=(y2,)), has="one dimension")]
gradient_of_gradient:
    z = y.clone().requires_grad_()
    (T.gradient(z, spacing=(c,), edge_order=2)[0] * c).sum().backward()
    z.grad

expanded_masked_fill: written(lambda x: x.masked_fill_(m, 5.)), written(lambda x: x.masked_fill_(m, t(5.))), written(lambda x: x.t().masked_fill_(m.t(), 5.))
expanded_index_fill: written(lambda x: x.index_fill_(0, i, 7.)), written(lambda x: x.index_fill_(1, t([1]), t(7.))), written(lambda x: x.index_fill_(0, t([-1]), 7.))
expanded_index_put: written(lambda x: x.index_put_((i,), t(3.))), written(lambda x: x.index_put_((i,), t(3.), accumulate=True)), written(lambda x: x.index_put_((i,), t([3., 4.])))
expanded_setitem: [written(lambda x: x.__setitem__(k, 4.)) for k in (i, (i, t([0, 1])), (slice(0, 2), t([0, 1])), m, m[:, 0], (0, t([True, False])), (i, 0), True, (None, i), (..., t([0, 1])), 0, slice(0, 2), t(1), [0, 2])]
expanded_setitem_tensor: [written(lambda x: x.__setitem__(k, t(4.))) for k in (i, (i, t([0, 1])), m, m[:, 0], (i, 0))], written(lambda x: x.__setitem__(m, t([1., 2., 3.])))
expanded_triangles: written(lambda x: x.tril_()), written(lambda x: x.triu_()), written(lambda x: x.fill_(2.)), written(lambda x: x.zero_()), written(lambda x: x.fill_diagonal_(3.))
expanded_refused: [raised(lambda: f(expanded()), has="more than one element of the written-to tensor refers to a single memory location") for f in (lambda x: x.masked_scatter_(m, src), lambda x: x.index_copy_(0, i, src[:2]), lambda x: x.index_add_(0, i, src[:2]), lambda x: x.scatter_(0, ii, src), lambda x: x.scatter_(0, ii, 2.), lambda x: x.scatter_add_(0, ii, src), lambda x: x.scatter_reduce_(0, ii, src, "sum"), lambda x: x.index_reduce_(0, i, src[:2], "prod"), lambda x: x.put_(i, t([1., 2.])), lambda x: x.add_(1), lambda x: x.copy_(src), lambda x: x.exp_(), lambda x: x.clamp_(0, 1), lambda x: x.cumsum_(0), lambda x: x.uniform_(), lambda x: x.addmm_(src, T.ones(2, 2)), lambda x: T.add(src, src, out=x), lambda x: T.cat([src], out=x), lambda x: T.gather(src, 0, ii, out=x), lambda x: x.__setitem__(0, t(4.)), lambda x: x.__setitem__(slice(0, 2), t([4.])))]
number_and_mask:
    x = src.clone()
    x[0, t([True, False])] = 4.
    x[t([False, True, True]), 1] = 5.
    x

out_order: [f(src.t(), out=o).stride() for f in (T.exp, T.neg, T.sigmoid, T.round, T.square, T.isfinite) for o in (T.empty(0), T.empty(0, dtype=T.float32)) if f is not T.isfinite], T.add(src.t(), 1, out=T.empty(0)).stride(), T.sort(src.t(), out=(T.empty(0), T.empty(0, dtype=T.int64)))[0].stride(), T.eq(src.t(), src.t(), out=T.empty(0)).stride(), T.exp(src.t(), out=T.empty(2, 3)).stride()
out_refused: [raised(lambda: f(out=T.empty(0, dtype=d))) for d in (T.float32, T.float64) for f in (lambda out: T.neg(i, out=out), lambda out: T.ceil(i, out=out), lambda out: T.round(i, out=out), lambda out: T.sgn(i, out=out), lambda out: T.signbit(src, out=out), lambda out: T.all(src, 0, out=out), lambda out: T.any(src, 0, out=out), lambda out: T.argsort(src, out=out))], raised(lambda: T.float_power(src, 2, out=T.empty(0)))
out_truth: T.all(src.byte(), 0, out=T.empty(0, dtype=T.uint8)), T.all(src.byte(), 0, out=T.empty(0, dtype=T.bool)), T.any(src, 1, out=T.empty(0, dtype=T.uint8)), T.any(src, 1, out=T.empty(0, dtype=T.bool))
without_dims: t(1.5).mH, t(1.5).mT, t(1.5).adjoint(), raised(lambda: t(1.).unflatten(0, (1, -1))), raised(lambda: t(1.).repeat_interleave(2, 0)), raised(lambda: T.unique(t(1.), dim=0))
without_elements: T.roll(T.zeros(0), (1, -1), (0, 1)), T.roll(T.zeros(0), 1, 5), T.zeros(3, 0)[t([9])], raised(lambda: T.zeros(0, 3).index_fill_(0, t([0]), 9)), T.amax(src, dim=None), T.amin(src, dim=None), raised(lambda: T.amax(T.zeros(0), dim=None))
as_numbers: raised(lambda: complex(src)), complex(t(2.)), raised(lambda: src.clone().fill_(2j), has="without overflow"), (src > 11).fill_(2j), (src > 11).fill_(0j)
copies_of_complex:
    x = src.clone()
    warned(lambda: x.copy_(3 + 2j))
    x
bool_from_complex: [raised(f, has="bool tensor") for f in (lambda: T.sub(src + 1j, True), lambda: T.sub(src > 1, 2j), lambda: (src + 1j).sub_(True), lambda: T.rsub(src + 1j, True))], raised(lambda: T.lt(src + 1j, T.ones(5)))
as_many_as_indices: raised(lambda: src.clone().index_add_(0, t([0, 0]), src[:1]), has="Number of indices (2)"), raised(lambda: src.clone().index_reduce_(0, t([0, 0]), src[:1], "prod"), has="Number of indices (2)"), raised(lambda: src.clone().index_copy_(0, t([0, 0]), src[:1])), raised(lambda: src.clone().index_fill_(0, t([5]), 9), has="index 5 is out of bounds for dimension 0 with size 3")
order_in_memory: (2 ** src.t()).stride(), T.pow(2, src.t()).stride(), T.isreal(src.t()).stride(), F.pad(src.t(), (-1, 0)).stride(), F.pad(src.t(), (0, 0)).stride(), F.one_hot(ii.t()).stride(), T.renorm(src.t(), 2, 0, 1.).stride(), src.median(0, True)[0].stride(), src.mode(0, True)[1].stride(), src.kthvalue(1, 0, True)[0].stride(), T.quantile(src, t([.1, .9]), -1, keepdim=True).stride(), T.quantile(src, t([.1, .9]), 0).stride(), T.quantile(src, t([.1, .9])).stride()

bce_beyond: [raised(lambda: F.binary_cross_entropy(t(a), t(b)).item(), has=w, at_read=True) for a, b, w in (([1.5], [.5], "all elements of input should be between 0 and 1"), ([.5], [1.5], "all elements of target should be between 0 and 1"), ([math.nan], [.5], "input should be"), ([.5], [math.nan], "target should be"), ([.5, 1.0001], [0., -1.], "should be between 0 and 1"), ([-.1, .5], [0., 0.], "input should be"))]
bce_edges: F.binary_cross_entropy(t([-0., 1., 0., .5]), t([1., 1., 0., -0.])), F.binary_cross_entropy(T.zeros(0), T.zeros(0), reduction="none"), F.binary_cross_entropy(t([0., 1.], dtype=T.float64), t([1., 0.], dtype=T.float64), reduction="none")
bce_gradient:
    x = t([.2, .9, .5], requires_grad=True)
    F.binary_cross_entropy(x, t([0., 1., .25])).backward()
    x.grad

names_in_place:
    names('''(x*1).abs_();(x*1).acos_();(x*1).add_(1);(x*1).add_(x);(x*1).addcdiv_(x,x);(x*1).addcmul_(x,x);(x*1).addmm_(x,x);
        (x*1).addr_(v,v);(x*1).asin_();(x*1).atan_();(x*1).atan2_(x);(x*1).ceil_();(x*1).clamp_(0,1);(x*1).clamp_(min=0);
        (x*1).copy_(x);(x*1).copysign_(x);(x*1).cos_();(x*1).cosh_();(x*1).digamma_();(x*1).div_(2);(x*1).div_(x);
        (x*1).erf_();(x*1).erfc_();(x*1).erfinv_();(x*1).exp_();(x*1).exp2_();(x*1).expm1_();(x*1).floor_();(x*1).fmod_(2);
        (x*1).frac_();(x*1).hypot_(x);(x*1).index_add_(0,i,x[:2]);(x*1).index_copy_(0,i,x[:2]);(x*1).index_fill_(0,i,2.);
        (x*1).index_put_((i,),x[0]);(x*1).index_reduce_(0,i,x[:2],'prod');(x*1).lerp_(x,.5);(x*1).lgamma_();(x*1).log_();
        (x*1).log10_();(x*1).log2_();(x*1).logit_();(x*1).masked_fill_(x>.5,2.);(x*1).masked_fill_(x>.5,v[0]);
        (x*1).masked_scatter_(x>.5,x);(x*1).mul_(2);(x*1).mul_(x);(x*1).nan_to_num_();(x*1).neg_();(x*1).pow_(2);
        (x*1).pow_(x);(x*1).put_(i,v[:2]);(x*1).reciprocal_();(x*1).relu_();(x*1).remainder_(2);(x*1).renorm_(2,0,1.);
        (x*1).round_();(x*1).rsqrt_();(x*1).scatter_(0,ii,x);(x*1).scatter_(0,ii,2.);(x*1).scatter_add_(0,ii,x);
        (x*1).scatter_reduce_(0,ii,x,'sum');(x*1).sgn_();(x*1).sigmoid_();(x*1).sign_();(x*1).sin_();(x*1).sinc_();
        (x*1).sinh_();(x*1).sqrt_();(x*1).square_();(x*1).sub_(1);(x*1).sub_(x);(x*1).tan_();(x*1).tanh_();(x*1).tril_();
        (x*1).triu_();(x*1).trunc_();(x*1).xlogy_(x);(x*1).zero_();(x*1).requires_grad_();(x*1).deg2rad_();(x*1).i0_();
        (x*1).mvlgamma_(1);(x*1).ldexp_(i[:1]);(x*1).nextafter_(x);F.relu_(x*1);F.hardtanh_(x*1);F.silu(x*1,inplace=True);
        F.mish(x*1,inplace=True);F.hardswish(x*1,inplace=True);F.hardsigmoid(x*1,inplace=True);F.relu6(x*1,inplace=True)''')
names_functional:
    names('''F.relu(x);F.gelu(x);F.silu(x);F.mish(x);F.elu(x);F.selu(x);F.celu(x);F.leaky_relu(x);F.softplus(x);F.softsign(x);
        F.hardtanh(x);F.hardsigmoid(x);F.hardswish(x);F.relu6(x);F.logsigmoid(x);F.tanhshrink(x);F.softshrink(x);
        F.hardshrink(x);F.sigmoid(x);F.tanh(x);F.rrelu(x);F.normalize(x);F.gelu(x,approximate='tanh');F.softmax(x,0);
        F.log_softmax(x,0);F.softmin(x,0);F.threshold(x,.5,1.);F.prelu(x,v);F.glu(T.cat([x,x],1));F.layer_norm(x,(3,));
        F.batch_norm(im,None,None,training=True);F.group_norm(im,2);F.mse_loss(x,x);F.l1_loss(x,x);F.smooth_l1_loss(x,x);
        F.huber_loss(x,x);F.cross_entropy(x,ii[0]);F.nll_loss(x,ii[0]);F.kl_div(x,x);F.binary_cross_entropy(x,x.detach());
        F.binary_cross_entropy_with_logits(x,x);F.linear(x,x);F.embedding(i,x);F.avg_pool2d(im,2);F.unfold(im,2);
        F.fold(F.unfold(im,2),(4,4),2);F.pixel_shuffle(T.cat([im,im],1),2);F.cosine_similarity(x,x);
        F.triplet_margin_loss(x,x,x);F.hinge_embedding_loss(x,x);F.gaussian_nll_loss(x,x,x);F.poisson_nll_loss(x,x);
        F.margin_ranking_loss(v,v,v);F.multilabel_soft_margin_loss(x,x);F.multi_margin_loss(x,ii[0]);F.lp_pool2d(im,2,2);
        F.channel_shuffle(im,2);F.local_response_norm(im,2);F.rms_norm(x,(3,))''')
names_methods:
    names('''x.abs();x.acos();x.acosh();x.angle();x.asin();x.asinh();x.atan();x.atanh();x.ceil();x.clone();x.cos();x.cosh();
        x.deg2rad();x.digamma();x.erf();x.erfc();x.erfinv();x.exp();x.exp2();x.expm1();x.floor();x.frac();x.i0();x.lgamma();
        x.log();x.log10();x.log2();x.logit();x.logsumexp(0);x.mean();x.median();x.min();x.max();x.prod();x.sum();x.std();
        x.var();x.neg();x.rad2deg();x.reciprocal();x.relu();x.round();x.rsqrt();x.sgn();x.sigmoid();x.sign();x.sin();x.sinc();
        x.sinh();x.sqrt();x.square();x.tan();x.tanh();x.tril();x.triu();x.trunc();x.t();x.T;x.trace();x.norm();x.nansum();
        x.nanmean();x.nan_to_num();x.aminmax();x.diagonal();x.flatten();x.unsqueeze(0);x.squeeze();x.cumsum(0);x.cumprod(0);
        x.logcumsumexp(0);x.cummax(0);x.softmax(0);x.log_softmax(0);x.std(0);x.var(0);x.mean(0);x.sum(0);x.prod(0);x.amax(0);
        x.amin(0);x.max(0);x.min(0);x.median(0);x.mode(0);x.sort(0);x.topk(2);x.kthvalue(2);x.clamp(0,1);x.clamp(min=0);
        x.clamp(max=1);x.clip(0,1);x.pow(2);x.pow(x);x.add(1);x.add(x);x.sub(1);x.sub(x);x.mul(2);x.mul(x);x.div(2);x.div(x);
        x.fmod(2);x.remainder(2);x.atan2(x);x.maximum(x);x.minimum(x);x.fmax(x);x.fmin(x);x.hypot(x);x.copysign(x);
        x.logaddexp(x);x.logaddexp2(x);x.lerp(x,.5);x.lerp(x,x);x.addcmul(x,x);x.addcdiv(x,x);x.xlogy(x);x.float_power(2);
        x.matmul(x);x.mm(x);x.mv(v);x.addmm(x,x);x.addr(v,v);x.expand(2,3,3);x.reshape(9);x.view(9);x.permute(1,0);
        x.transpose(0,1);x.movedim(0,1);x.select(0,0);x.narrow(0,0,1);x.repeat(1,2);x.tile(2);x.roll(1);x.roll(1,0);x.flip(0);
        x.rot90();x.index_select(0,i);x.gather(0,ii);x.take(i);x.masked_select(x>.5);x.masked_fill(x>.5,2.);
        x.masked_scatter(x>.5,x);x.index_fill(0,i,2.);x.index_add(0,i,x[:2]);x.index_copy(0,i,x[:2]);x.index_put((i,),x[0]);
        x.scatter(0,ii,x);x.scatter(0,ii,2.);x.scatter_add(0,ii,x);x.scatter_reduce(0,ii,x,'sum');
        x.index_reduce(0,i,x[:2],'prod');x.put(i,v[:2]);x.where(x>.5,x);x.unfold(0,2,1);x.split(1);x.chunk(3);x.unbind();
        x.tensor_split(3);x.repeat_interleave(2);x.renorm(2,0,1.);x.dist(x);x.inverse();x.det();x.logdet();x.slogdet();
        x.pinverse();x.matrix_exp();x.diff();x.cov();x.corrcoef();x.half();x.type(T.float64);x.as_strided((2,),(1,));
        x.ldexp(i[:1]);x.cross(x);x.expand_as(x);x.view_as(x);x.reshape_as(x);x.swapaxes(0,1);x.vsplit(3);x.hsplit(3);
        x.ravel();x.unflatten(0,(1,3));x.diag_embed();x.diagonal_scatter(v);x.select_scatter(v,0,0);
        x.slice_scatter(x[:1],0,0,1);x.softmax(-1);x.polygamma(1);x.mvlgamma(1)''')
names_functions:
    names('''T.dot(v,v);T.outer(v,v);T.cat([x,x]);T.stack([x,x]);T.bmm(x[None],x[None]);T.baddbmm(x[None],x[None],x[None]);
        T.cdist(x,x);T.linalg.norm(x);T.linalg.inv(x);T.linalg.solve(x,x);T.linalg.qr(x)[0];T.linalg.svd(x)[1];
        T.linalg.eigh(x@x.T)[0];T.linalg.cholesky(x@x.T+T.eye(3));T.linalg.vector_norm(x);T.linalg.matrix_norm(x);
        T.linalg.det(x);T.linalg.pinv(x);T.where(x>.5,x,1.);T.where(x>.5,1.,x);1-x;1/x;2**x;x**2;2*x;-x;x@x;x[0];x[:,0];x[i];
        x[x>.5];x[None];x[...,1:];x[0,i];T.meshgrid(v,v)[0];T.broadcast_to(v,(3,3));T.block_diag(x,x);T.vstack([x,x]);
        T.hstack([x,x]);T.column_stack([v,v]);T.addbmm(x,x[None],x[None]);T.softmax(x,0);T.rsub(x,1);T.complex(v,v);
        T.cumulative_trapezoid(x);T.cartesian_prod(v,v);T.var_mean(x)[0];T.std_mean(x)[0];T.var_mean(x)[1]''')
names_layers:
    names('''F.linear(x,x,v);F.linear(v,x,v);F.linear(x3,x,v);F.linear(x3,x);F.linear(x,x);F.linear(x3.transpose(0,1),x,v);
        F.linear(x3[None],x,v);T.nn.Linear(3,2)(x);T.nn.Linear(3,2)(x3);T.nn.Linear(3,2,bias=False)(x);
        F.cross_entropy(x,c);T.nn.CrossEntropyLoss()(x,c);T.nn.MSELoss()(x,x*2);T.nn.Conv2d(1,2,2)(T.rand(1,1,4,4));
        T.nn.LSTM(3,2)(x)[0];T.nn.MultiheadAttention(3,1)(x,x,x)[0];T.nn.BatchNorm1d(3)(x);T.nn.LayerNorm(3)(x);
        T.nn.Softmax(1)(x);T.nn.ReLU()(x);T.nn.Dropout()(x);T.nn.Embedding(5,3)(c);T.nn.Flatten()(x3);
        T.nn.Sequential(T.nn.Linear(3,2),T.nn.ReLU(),T.nn.Linear(2,1))(x);x.mean();(x**2).sum();x.norm();
        T.nn.functional.log_softmax(x,1);x@x;x3@x3;x3@x;x@v;x.log1p();T.bmm(x3,x3);F.softplus(x);F.gelu(x);
        T.nn.GRU(3,2)(x)[0];T.nn.RNN(3,2)(x)[0];T.nn.Bilinear(3,3,2)(x,x);T.nn.BCELoss()(x,x.detach());
        T.nn.BCEWithLogitsLoss()(x,x);T.nn.NLLLoss()(x,c)''')
names_windows:
    names('''F.max_pool1d(x3,2);F.avg_pool1d(x3,2);F.adaptive_avg_pool1d(x3,2);F.max_pool2d(x3,2);F.avg_pool3d(x5,2);F.max_pool3d(x5,2);
        F.adaptive_avg_pool3d(x5,2);F.adaptive_avg_pool3d(x5,1);F.adaptive_max_pool3d(x5,2);F.adaptive_max_pool2d(im,2);
        F.max_unpool2d(*F.max_pool2d(im,2,return_indices=True),2);F.pad(im,(1,1,1,1),'reflect');F.pad(x3,(1,1),'replicate');
        F.pad(x5,(1,)*6,'reflect');F.pad(im,(1,1,1,1),'circular');F.pad(im,(1,1));F.interpolate(x3,scale_factor=2);
        F.interpolate(x5,scale_factor=2);F.interpolate(x3,scale_factor=2,mode='linear');F.interpolate(x5,scale_factor=2,mode='trilinear');
        F.interpolate(im,scale_factor=2,mode='nearest-exact');F.interpolate(im,size=(3,3),mode='bilinear',antialias=True);
        F.interpolate(im,scale_factor=2,mode='bicubic');F.embedding_bag(c[None],x)''')
names_losses:
    names('''F.cross_entropy(x,x.detach());F.cross_entropy(x,c,label_smoothing=.1);F.nll_loss(im[:,:,:1,:1],c[:1].reshape(1,1,1)*0);
        F.soft_margin_loss(x,x.detach());F.multilabel_margin_loss(x,c.expand(3,3));F.scaled_dot_product_attention(im,im,im);
        F.scaled_dot_product_attention(x3,x3,x3)''')
names_overloads:
    names('''x.clamp(0,1);x.clamp(x,x);x.clamp(x);x.clamp_min(0);x.clamp_min(x);x.clamp_max(x);x.fmod(2);x.fmod(x);x.remainder(2);
        x.remainder(x);x%x;x.copysign(2);x.copysign(x);T.rsub(x,x);T.rsub(x,1);v@x;x3@v;x@v;v@v;v.inner(v);T.tensordot(x,x);v.vdot(v);
        x.H;x.adjoint();T.special.i0e(x);T.special.i1(x);T.special.i1e(x);T.special.erfcx(x);T.special.ndtri(x);T.special.zeta(x,x);
        T.special.bessel_j0(x);T.special.entr(x);T.special.ndtr(x);x.igamma(x);x.igammac(x)''')
names_linalg:
    names('''T.linalg.inv_ex(x)[0];T.linalg.solve_ex(x,x)[0];T.linalg.solve_triangular(x,x,upper=True);T.triangular_solve(x,x)[0];
        T.cholesky_solve(x,x);T.cholesky_inverse(x);T.linalg.lu(x)[1];T.linalg.lu_factor(x)[0];T.linalg.lstsq(x,x)[0];
        T.linalg.cholesky_ex(x@x.T+T.eye(3))[0];T.linalg.eig(x)[0]''')
names_written:
    [name_after(s) for s in '''y[0].fill_(2);y[0].masked_fill_(v>0,2.);y[0].index_fill_(0,c[:1],2.);y[0].exp_();y[0].uniform_();y.uniform_();
        y[0].index_add_(0,c[:1],v[:1]);y[0].scatter_(0,c[:1],v[:1]);y.t().masked_fill_(x>0,2.);y[0].cumsum_(0);
        y.cumsum_(0);y.cumprod_(0);y.clamp_min_(0);y.clamp_max_(0);y.normal_();y.exponential_();y.bernoulli_();
        y.random_();y[0]=1;y[0]=v;y[c[:1]]=v;y+=1;y*=x;y[0]+=1;y.zero_();y.geometric_(.5);y.cauchy_();y.log_normal_();
        y[0].copy_(v)'''.split(';')]
""")
