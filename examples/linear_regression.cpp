// The tutorials' linear regression, of y = 5x + 3: linear_regression [PICTURE.svg]
#include <cstdio>

#include "braze/braze.h"
#include "braze/data.h"
#include "braze/nn.h"
#include "braze/optim.h"
#include "curve.h"

using namespace braze;

int main(int argc, char** argv) {
  manual_seed(66);
  const Tensor X = randn({100, 1});
  const Tensor y = 5 * X + 3;
  const data::DataLoader loader(data::TensorDataset(X, y), {.batch_size = 16, .shuffle = true});
  const nn::Linear model(1, 1);
  const nn::MSELoss criterion;
  optim::SGD optimizer(model->parameters(), {.lr = 0.01});
  std::vector<double> losses;
  for (int epoch = 0; epoch < 100; ++epoch) {
    Tensor loss;
    for (const auto& [X_train, y_train] : loader) {
      loss = criterion(y_train, model(X_train));
      optimizer.zero_grad();
      loss.sum().backward();
      optimizer.step();
    }
    losses.push_back(loss.item<double>());
    curve::show_progress(epoch + 1, 100);
  }
  std::printf("模型参数 w：%.3f, b: %.3f\n", model->weight.item<double>(), model->bias.item<double>());
  if (argc > 1) curve::save(argv[1], "mean squared error", losses);
}
