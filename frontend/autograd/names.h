// The names that derivatives go by: PyTorch's, for what prints as grad_fn=<MulBackward0>. An op of the table has the name of its own;
// a function that is composed of several names itself by a scope at its top:
//
//   Tensor mean(...) {
//     const GradientScope scope(GradientName::MeanBackward0);
#pragma once

#include <cstdint>
#include <string>

#include "frontend/engine/engine.h"

namespace braze {

#define BRAZE_GRADIENT_NAMES(X)                                                                                                    \
  X(None)                                                                                                                          \
  X(AbsBackward0)                                                                                                                  \
  X(AddBackward0)                                                                                                                  \
  X(AddbmmBackward0)                                                                                                               \
  X(AddcdivBackward0) X(AddcmulBackward0) X(AddmmBackward0) X(AddmvBackward0) X(AddrBackward0) X(AliasBackward0) X(AmaxBackward0)  \
      X(AminBackward0) X(AngleBackward0) X(AsStridedBackward0) X(BaddbmmBackward0) X(BinaryCrossEntropyBackward0) X(               \
          BinaryCrossEntropyWithLogitsBackward0) X(BmmBackward0) X(CatBackward0) X(CeluBackward0) X(CholeskyBackward0)             \
          X(ClampBackward0) X(ClampBackward1) X(ClampMaxBackward0) X(ClampMinBackward0) X(CloneBackward0) X(ConjBackward0) X(      \
              ConvolutionBackward0) X(CopyBackwards) X(CopySlices) X(CumprodBackward0) X(CumsumBackward0) X(DiagonalBackward0)     \
              X(DistBackward0) X(DivBackward0) X(DivBackward1) X(DotBackward0) X(EluBackward0) X(EmbeddingBackward0) X(            \
                  ExpandBackward0) X(FillBackward0) X(FlipBackward0) X(GatherBackward0) X(GeluBackward0) X(GluBackward0)           \
                  X(HardsigmoidBackward0) X(HardswishBackward0) X(HardtanhBackward0) X(HuberLossBackward0) X(IndexAddBackward0) X( \
                      IndexBackward0) X(IndexCopyBackward0) X(IndexFillBackward0) X(IndexPutBackward0) X(IndexSelectBackward0)     \
                      X(KlDivBackward0) X(KthvalueBackward0) X(LeakyReluBackward0) X(LerpBackward0) X(LerpBackward1)               \
                          X(LinalgVectorNormBackward0) X(LinearBackward0) X(LogSigmoidBackward0) X(LogSoftmaxBackward0) X(         \
                              LogsumexpBackward0) X(MaskedFillBackward0) X(MaskedScatterBackward0) X(MaskedSelectBackward0)        \
                              X(MaxBackward0) X(MaxBackward1) X(MaxPool2DWithIndicesBackward0) X(AvgPool2DBackward0) X(            \
                                  MeanBackward0) X(MeanBackward1) X(MedianBackward0) X(MinBackward0) X(MinBackward1)               \
                                  X(MishBackward0) X(                                                                              \
                                      MmBackward0) X(MseLossBackward0) X(MulBackward0) X(MvBackward0) X(NanToNumBackward0)         \
                                      X(NansumBackward0) X(NativeBatchNormBackward0) X(NativeGroupNormBackward0) X(                \
                                          NativeLayerNormBackward0) X(NllLossBackward0)                                            \
                                          X(NormBackward0) X(PermuteBackward0) X(PowBackward0) X(PowBackward1) X(PowBackward2) X(  \
                                              PreluKernelBackward0) X(ProdBackward0)                                               \
                                              X(ProdBackward1) X(ReluBackward0) X(RepeatBackward0) X(ReshapeAliasBackward0) X(     \
                                                  RollBackward0) X(Rot90Backward0) X(RsubBackward0) X(RsubBackward1)               \
                                                  X(ScatterAddBackward0) X(ScatterBackward0) X(ScatterReduceBackward0)             \
                                                      X(SelectBackward0)                                                           \
                                                          X(SeluBackward0) X(SigmoidBackward0) X(SiluBackward0) X(SliceBackward0)  \
                                                              X(SmoothL1LossBackward0) X(SoftmaxBackward0) X(SoftplusBackward0)    \
                                                                  X(SortBackward0) X(SplitBackward0) X(SplitWithSizesBackward0) X( \
                                                                      SquareBackward0) X(SqueezeBackward0) X(SqueezeBackward1)     \
                                                                      X(SqueezeBackward2)                                          \
                                                                          X(StackBackward0) X(StdBackward0) X(SubBackward0) X(     \
                                                                              SumBackward0) X(SumBackward1) X(TBackward0)          \
                                                                              X(TakeBackward0) X(ToCopyBackward0)                  \
                                                                                  X(TopkBackward0) X(TransposeBackward0)           \
                                                                                      X(TrilBackward0) X(TriuBackward0)            \
                                                                                          X(UnbindBackward0) X(UnfoldBackward0)    \
                                                                                              X(UnsqueezeBackward0)                \
                                                                                                  X(VarBackward0) X(ViewBackward0) \
                                                                                                      X(WhereBackward0)            \
                                                                                                          X(XlogyBackward0)        \
                                                                                                              X(ZeroBackward0)

enum class GradientName : std::uint8_t {
#define BRAZE_NAME(name) name,
  BRAZE_GRADIENT_NAMES(BRAZE_NAME)
#undef BRAZE_NAME
};

class GradientScope {
 public:
  explicit GradientScope(GradientName name) : scope_(static_cast<std::uint8_t>(name)) {}

 private:
  engine::FunctionScope scope_;
};

// "MulBackward0"
std::string gradient_name(const engine::Node& node);

}  // namespace braze
