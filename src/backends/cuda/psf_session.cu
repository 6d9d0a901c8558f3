#include "backends/cuda/kernels/device_queue.hpp"
#include "backends/cuda/psf_session.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::cuda {
namespace {

/// Runs body(); an error of the card becomes NotAvailable.
template <class Body>
auto on_card(const Body& body) {
  try {
    return body();
  } catch (const DeviceError& error) {
    throw NotAvailable(std::string("training on a card: ") + error.what() +
                       (error.out_of_memory() ? "; a smaller batch or --device cpu needs less of it"
                                              : "; --device cpu needs no card"));
  } catch (const std::invalid_argument& error) {
    throw NotAvailable(error.what());
  }
}

class CardSession final : public PsfSession {
 public:
  CardSession(const PsfModelShape& model, const StepSettings& settings)
      : session_(queue_, model, settings) {}
  const PsfModelShape& model() const override { return session_.model(); }
  void set(const float* parameters, const float* first, const float* second, Index steps) override {
    on_card([&] { session_.set(parameters, first, second, steps); });
  }
  void get(float* parameters, float* first, float* second) override {
    on_card([&] { session_.get(parameters, first, second); });
  }
  void upload(const HostBatch<float>& batch) override {
    on_card([&] { session_.upload(batch); });
  }
  void take_step(double rate) override {
    on_card([&] { session_.take_step(rate); });
  }
  StepStatus take_status() override {
    return on_card([&] { return session_.take_status(); });
  }

 private:
  DeviceQueue queue_;
  PsfSessionOn<DeviceQueue> session_;
};

}  // namespace

std::unique_ptr<PsfSession> make_card_session(const PsfModelShape& model,
                                              const StepSettings& settings) {
  return on_card([&]() -> std::unique_ptr<PsfSession> {
    return std::make_unique<CardSession>(model, settings);
  });
}

}  // namespace matapprox::cuda
