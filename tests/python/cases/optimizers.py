"""torch.optim beyond the shared kit."""
from kit import case, table, raised


def setup(T):
    def walk(make, steps=5):
        p = T.tensor([1., -2., 3.], requires_grad=True)
        q = T.tensor([[0.5], [-1.5]], requires_grad=True)
        opt = make([p, q])
        seen = []
        for k in range(steps):
            opt.zero_grad()
            ((p ** 2).sum() * (k + 1) + (q.sin() * p[0]).sum()).backward()
            opt.step()
            seen.append((p.detach().clone(), q.detach().clone()))
        return seen, {k: {n: v for n, v in s.items()} for k, s in opt.state_dict()["state"].items()}

    def lrs(make, n=12, lr=0.1, names=("lr",), optimizer=None, **kw):
        p = T.zeros(1, requires_grad=True)
        opt = (optimizer or T.optim.SGD)([p], lr=lr, **kw)
        sch = make(opt)
        seen = []
        for _ in range(n):
            seen.append([opt.param_groups[0][name] for name in names])
            p.sum().backward()
            opt.step()
            sch.step()
        return seen, sch.get_last_lr()
    return {"walk": walk, "lrs": lrs, "O": T.optim, "S": T.optim.lr_scheduler, "leaf": lambda v: T.tensor(v, requires_grad=True)}


table(setup, """
sgd: walk(lambda p: O.SGD(p, lr=0.05, momentum=0.9, dampening=0.1, weight_decay=0.1))
sgd_tensor_rate: walk(lambda p: O.SGD(p, lr=T.tensor(0.05)))[0]
adam: walk(lambda p: O.Adam(p, lr=0.1, weight_decay=0.1, amsgrad=True, maximize=True))
adamw: walk(lambda p: O.AdamW(p, lr=0.1, amsgrad=True))
rmsprop: walk(lambda p: O.RMSprop(p, lr=0.05, momentum=0.9, centered=True, weight_decay=0.1))
adagrad: walk(lambda p: O.Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5))
adadelta: walk(lambda p: O.Adadelta(p, weight_decay=0.1))
adamax: walk(lambda p: O.Adamax(p, lr=0.1, weight_decay=0.1))
nadam: walk(lambda p: O.NAdam(p, lr=0.1, weight_decay=0.1)), walk(lambda p: O.NAdam(p, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True))
radam: walk(lambda p: O.RAdam(p, lr=0.1, weight_decay=0.1), steps=9), walk(lambda p: O.RAdam(p, decoupled_weight_decay=True, weight_decay=0.1))
rprop_asgd: walk(lambda p: O.Rprop(p, lr=0.1)), walk(lambda p: O.ASGD(p, lr=0.05, t0=2, weight_decay=0.1))
texts: [repr(o([leaf([1.])])) for o in (O.SGD, O.Adam, O.AdamW, O.RMSprop, O.Adagrad, O.Adadelta, O.Adamax, O.NAdam, O.RAdam, O.LBFGS, O.Rprop, O.ASGD)]
errors: [raised(f) for f in (lambda: O.SGD([], lr=0.1), lambda: O.SGD(leaf([1.]), lr=0.1), lambda: O.SGD([leaf([1.])], lr=-1), lambda: O.SGD([leaf([1.])], momentum=-1), lambda: O.SGD([leaf([1.])], nesterov=True), lambda: O.Adam([leaf([1.])], betas=(1.0, 0.9)), lambda: O.Adam([leaf([1.])], eps=-1), lambda: O.SGD([{'lr': 0.1}]), lambda: O.SGD({leaf([1.])}))]
shared_parameter: p = leaf([1.]); raised(lambda: O.SGD([{'params': [p]}, {'params': [p]}], lr=0.1), has='more than one')
load_errors: o = O.SGD([leaf([1.])], lr=0.1); raised(lambda: o.load_state_dict(O.SGD([{'params': [leaf([1.])]}, {'params': [leaf([1.])]}], lr=0.1).state_dict()), has='different number'), raised(lambda: o.load_state_dict(O.SGD([leaf([1.]), leaf([2.])], lr=0.1).state_dict()), has='size')
hooks: s = []; p = leaf([1.]); o = O.SGD([p], lr=0.1); h = o.register_step_pre_hook(lambda o, a, k: s.append('pre')); o.register_step_post_hook(lambda o, a, k: s.append('post')); o.step(); h.remove(); o.step(); s
state_dict_form: p = leaf([1.]); q = leaf([2.]); o = O.Adam([{'params': [p], 'lr': 0.5}, {'params': [q]}]); (p * q).sum().backward(); o.step(); d = o.state_dict(); sorted(d), [sorted(g) for g in d['param_groups']], [g['params'] for g in d['param_groups']], sorted(d['state'])
names_kept: m = nn.Linear(2, 1); o = O.Adam(m.named_parameters()); o.param_groups[0]['param_names'], o.state_dict()['param_groups'][0]['param_names']
zero_grad_to_zero: p = leaf([1.]); o = O.SGD([p], lr=0.1); (p * 2).sum().backward(); o.zero_grad(set_to_none=False); p.grad
""", rtol=3e-5, atol=3e-6)

table(setup, """
step_multi: lrs(lambda o: S.StepLR(o, 3, 0.5)), lrs(lambda o: S.MultiStepLR(o, [2, 5, 5], 0.5))
constant_linear: lrs(lambda o: S.ConstantLR(o, 0.5, 4)), lrs(lambda o: S.LinearLR(o, 0.25, 0.9, 6))
exponential_polynomial: lrs(lambda o: S.ExponentialLR(o, 0.9)), lrs(lambda o: S.PolynomialLR(o, 8, 2.0))
cosine: lrs(lambda o: S.CosineAnnealingLR(o, 5, 0.01), n=14), lrs(lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2, 0.01), n=14), lrs(lambda o: S.CosineAnnealingWarmRestarts(o, 4), n=14)
one_cycle: lrs(lambda o: S.OneCycleLR(o, 1.0, total_steps=14), n=14, names=("lr", "momentum"), momentum=0.9), lrs(lambda o: S.OneCycleLR(o, 1.0, epochs=2, steps_per_epoch=7, anneal_strategy='linear', three_phase=True), n=13, names=("lr", "betas"), optimizer=O.Adam)
cyclic: [lrs(lambda o: S.CyclicLR(o, 0.1, 1.0, 3, 4, mode=m, gamma=0.9), n=16, names=("lr", "momentum"), momentum=0.9) for m in ('triangular', 'triangular2', 'exp_range')]
cyclic_scaled: lrs(lambda o: S.CyclicLR(o, 0.1, 1.0, 3, scale_fn=lambda x: 1 / (5 ** (x * 0.0001)), scale_mode='iterations', cycle_momentum=False))
sequential: lrs(lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 20), S.ExponentialLR(o, 0.9)], [4])), lrs(lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 4), S.CosineAnnealingLR(o, 6)], [4]))
chained: lrs(lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)]))
lambda_by_group: p = leaf([1.]); q = leaf([1.]); o = O.SGD([{'params': [p]}, {'params': [q], 'lr': 1.0}], lr=0.1); s = S.LambdaLR(o, [lambda e: 0.5 ** e, lambda e: e + 1]); r = [(o.step(), s.step(), s.get_last_lr())[-1] for _ in range(3)]; r
plateau: [[(s.step(v), o.param_groups[0]['lr'])[1] for v in (5., 4., 4., 4., 3.9999, 4., 4., 3., 3., 3., 3.)] for o, s in [(o, S.ReduceLROnPlateau(o, mode=m, factor=0.5, patience=1, cooldown=1, threshold_mode=tm, min_lr=0.2)) for m, tm in (('min', 'rel'), ('max', 'abs')) for o in [O.SGD([leaf([1.])], lr=1.)]]]
resume: o = O.SGD([leaf([1.])], lr=0.1); s = S.StepLR(o, 2, 0.1); [(o.step(), s.step()) for _ in range(3)]; d = s.state_dict(); o2 = O.SGD([leaf([1.])], lr=0.1); s2 = S.StepLR(o2, 2, 0.1); s2.load_state_dict(d); o2.load_state_dict(o.state_dict()); o2.step(); s2.step(); s2.get_last_lr(), s2.last_epoch, raised(lambda: S.StepLR(O.SGD([leaf([1.])], lr=0.1), 2, last_epoch=3), has='initial_lr')
errors: raised(lambda: S.StepLR(3, 2)), raised(lambda: S.OneCycleLR(O.SGD([leaf([1.])]), 1.0)), raised(lambda: S.ConstantLR(O.SGD([leaf([1.])]), 2.0)), raised(lambda: S.CyclicLR(O.Adagrad([leaf([1.])]), 0.1, 1.0))
""", prefix="schedule_", rtol=1e-9, atol=1e-12)


@case(rtol=2e-3, atol=1e-4)
def lbfgs(T):
    out = []
    for search in (None, "strong_wolfe"):
        p = T.tensor([-1.0, 1.5], requires_grad=True)
        o = T.optim.LBFGS([p], lr=0.2 if search is None else 1, max_iter=8, line_search_fn=search)

        def closure():
            o.zero_grad()
            loss = (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2
            loss.backward()
            return loss
        out.append([(o.step(closure), p.detach().clone()) for _ in range(3)])
    return out
