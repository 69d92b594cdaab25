"""Recurrent networks: tagging text, reading images, translating sequences, forecasting maps."""

from __future__ import annotations

import torch
from torch import nn

from tools.zoo_of_models.entry import Exported, torch_model
from tools.zoo_of_models.layers import conv


class Tagger(nn.Module):
    """A bidirectional network of two layers that classifies each word."""

    def __init__(self, kind: type[nn.RNNBase]):
        super().__init__()
        self.words, self.out = nn.Embedding(60, 24), nn.Linear(64, 9)
        self.net = kind(24, 32, 2, batch_first=True, bidirectional=True)

    def forward(self, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, _ = self.net(self.words(words))
        scores = self.out(y)
        return scores, scores.argmax(-1)


@torch_model("lstm tagger", 14, legacy=True)
def lstm() -> Exported:
    return Exported(Tagger(nn.LSTM), (torch.randint(0, 60, (2, 11)),))


@torch_model("gru tagger", 11, legacy=True)
def gru() -> Exported:
    return Exported(Tagger(nn.GRU), (torch.randint(0, 60, (2, 11)),))


@torch_model("gru tagger by torch.export", 18)
def gru_exported() -> Exported:
    return Exported(Tagger(nn.GRU), (torch.randint(0, 60, (2, 11)),))


@torch_model("elman network", 15, legacy=True)
def elman() -> Exported:
    return Exported(Tagger(nn.RNN), (torch.randint(0, 60, (3, 8)),))


class Stateful(nn.Module):
    """An LSTM with its state as input and output, as in speech detectors."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.out = nn.LSTM(20, 32, 2), nn.Linear(32, 1)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, (hidden, cell) = self.net(x, (hidden, cell))
        return self.out(y[-1]).sigmoid(), hidden, cell


@torch_model("lstm with its state", 18)
def stateful() -> Exported:
    return Exported(Stateful(), (torch.randn(7, 2, 20), torch.randn(2, 2, 32), torch.randn(2, 2, 32)))


class Crnn(nn.Module):
    """Reads text in images: convolutions, columns as a sequence, classes for CTC."""

    def __init__(self) -> None:
        super().__init__()
        self.see = nn.Sequential(conv(1, 16, 3), nn.MaxPool2d(2), conv(16, 32, 3), nn.MaxPool2d((2, 1)))
        self.read, self.out = nn.LSTM(128, 24, bidirectional=True), nn.Linear(48, 37)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        columns = self.see(x).flatten(1, 2).permute(2, 0, 1)
        return self.out(self.read(columns)[0]).log_softmax(-1)


@torch_model("crnn text reader", 17, legacy=True)
def crnn() -> Exported:
    return Exported(Crnn(), (torch.randn(2, 1, 16, 40),))


class Translator(nn.Module):
    """A GRU encoder and a GRU decoder. The decoder attends to the encoder's states, and in each of five steps takes the
    token that the previous step chose."""

    def __init__(self, width: int = 24):
        super().__init__()
        self.words, self.encode = nn.Embedding(40, width), nn.GRU(width, width, batch_first=True)
        self.step, self.out = nn.GRUCell(2 * width, width), nn.Linear(width, 40)

    def forward(self, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen, last = self.encode(self.words(words))
        state, choice = last[0], torch.zeros(words.shape[0], dtype=torch.int64)
        scores, chosen = [], []
        for _ in range(5):
            weights = (seen @ state[:, :, None]).softmax(1)
            state = self.step(torch.cat([self.words(choice), (weights * seen).sum(1)], -1), state)
            scores.append(self.out(state))
            choice = scores[-1].argmax(-1)
            chosen.append(choice)
        return torch.stack(scores, 1), torch.stack(chosen, 1)


@torch_model("translator with attention", 16, legacy=True)
def translator() -> Exported:
    return Exported(Translator(), (torch.randint(0, 40, (2, 6)),))


class ConvLstm(nn.Module):
    """A convolutional LSTM cell over four weather maps."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.gates, self.out = nn.Conv2d(1 + width, 4 * width, 3, padding=1), nn.Conv2d(width, 1, 1)
        self.width = width

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        hidden = torch.zeros(maps.shape[0], self.width, *maps.shape[-2:])
        cell = hidden
        for index in range(4):
            i, f, o, g = self.gates(torch.cat([maps[:, index], hidden], 1)).chunk(4, 1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * cell.tanh()
        return self.out(hidden)


@torch_model("convolutional lstm", 18)
def weather() -> Exported:
    return Exported(ConvLstm(), (torch.randn(1, 4, 1, 16, 16),))
